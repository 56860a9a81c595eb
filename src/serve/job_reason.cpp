#include "serve/job_reason.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/job_names.hpp"

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

// What keeps a job from being looked at; both empty where the policy looks at it.
struct Barrier {
  std::string_view word{};
  std::string_view name{};
};

Barrier barrier_of(const schedule::Scheduler& scheduler,
                   const JobRecord& job,
                   const Deferral& why) {
  if (job.state == JobState::Held) {
    return {.word = "Held", .name = "held"};
  }
  if (scheduler.draining() && why.reason == scheduler.why_no_starts()) {
    return {.word = "Drained", .name = "drained"};
  }
  const bool in_line = why.constraint != Constraint::Order || scheduler.may_start(job.id);
  return in_line ? Barrier() : Barrier{.word = "Dependency", .name = "dependency"};
}

}  // namespace

std::string_view constraint_of(const schedule::Scheduler& scheduler,
                               const JobRecord& job,
                               const Deferral& why) {
  const Barrier barrier = barrier_of(scheduler, job, why);
  return barrier.name.empty() ? name_of(why.constraint) : barrier.name;
}

JobReason reason_of(const schedule::Scheduler& scheduler, const JobRecord& job) {
  if (!job.over()) {
    if (auto why = scheduler.why_waiting(job.id)) {
      const Barrier barrier = barrier_of(scheduler, job, *why);
      return {.word = barrier.word.empty() ? word_of(why->constraint) : barrier.word,
              .sentence = std::move(why->reason)};
    }
    if (job.running() != nullptr && job.running()->pause) {
      const JobPaused& pause = *job.running()->pause;
      return {.word = word_of(pause.cause), .sentence = fmt::format("paused: {}", pause.reason)};
    }
  }
  return {.sentence = job.reason};
}

}  // namespace carpool::serve
