#include "serve/job_reason.hpp"

#include <utility>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

std::string_view word_of(Constraint constraint) {
  switch (constraint) {
    case Constraint::Memory:
      return "Memory";
    case Constraint::Interference:
      return "Interference";
    case Constraint::Latency:
      return "Latency";
    case Constraint::Exclusive:
      return "Exclusive";
    case Constraint::GpuCount:
      return "GPUs";
    case Constraint::OtherUser:
      return "OtherUser";
    case Constraint::NoGpu:
      return "NoGPU";
    case Constraint::Machine:
      return "Machine";
    case Constraint::Begin:
      return "Begin";
    case Constraint::ArrayLimit:
      return "ArrayLimit";
    case Constraint::Order:
      break;
  }
  return "Order";
}

std::string_view word_of(PauseCause cause) {
  switch (cause) {
    case PauseCause::Interference:
      return "Interference";
    case PauseCause::Memory:
      return "Memory";
    case PauseCause::Turn:
      break;
  }
  return "Turn";
}

std::string_view waiting_word(const schedule::Scheduler& scheduler,
                              const JobRecord& job,
                              const Deferral& why) {
  if (job.state == JobState::Held) {
    return "Held";
  }
  if (scheduler.draining() && why.reason == scheduler.why_no_starts()) {
    return "Drained";
  }
  const bool in_line = why.constraint != Constraint::Order || scheduler.may_start(job.id);
  return in_line ? word_of(why.constraint) : "Dependency";
}

}  // namespace

JobReason reason_of(const schedule::Scheduler& scheduler, const JobRecord& job) {
  if (!job.over()) {
    if (auto why = scheduler.why_waiting(job.id)) {
      const std::string_view word = waiting_word(scheduler, job, *why);
      return {.word = word, .sentence = std::move(why->reason)};
    }
    if (job.running() != nullptr && job.running()->pause) {
      const JobPaused& pause = *job.running()->pause;
      return {.word = word_of(pause.cause), .sentence = fmt::format("paused: {}", pause.reason)};
    }
  }
  return {.sentence = job.reason};
}

}  // namespace carpool::serve
