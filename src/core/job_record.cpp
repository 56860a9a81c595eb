#include "core/job_record.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace carpool {
namespace {

// The change of a record by one event. Returns what is wrong; empty: nothing.
class Change {
 public:
  Change(JobRecord& job, const JobEvent& event) : job_(job), id_(event.job), at_s_(event.at_s) {}

  std::string operator()(const JobSubmitted& event) {
    if (job_.id != 0) {
      return "submitted twice";
    }
    job_.id = id_;
    job_.spec = event.spec;
    job_.owner = event.owner;
    job_.exclusive = event.spec.exclusive;
    job_.submitted_s = at_s_;
    job_.queued_s = at_s_;
    return {};
  }

  std::string operator()(const JobHeld& /*event*/) {
    return move(JobState::Queued, JobState::Held, "held");
  }

  std::string operator()(const JobReleased& /*event*/) {
    job_.queued_s = at_s_;
    return move(JobState::Held, JobState::Queued, "released");
  }

  std::string operator()(const JobUpdated& event) {
    const bool waits = job_.state == JobState::Queued || job_.state == JobState::Held;
    if (!waits && (event.mem_bytes || event.priority || event.job_class || event.begin_s)) {
      return "its request changed while it runs";
    }
    job_.spec.time_s = event.time_s ? event.time_s : job_.spec.time_s;
    job_.spec.mem_bytes = event.mem_bytes ? event.mem_bytes : job_.spec.mem_bytes;
    job_.spec.mem_auto = job_.spec.mem_auto && !event.mem_bytes;
    job_.spec.priority = event.priority.value_or(job_.spec.priority);
    job_.spec.job_class = event.job_class.value_or(job_.spec.job_class);
    if (job_.spec.job_class != JobClass::Slo) {
      job_.spec.slo_ms.reset();
      job_.spec.quantile.reset();
    }
    job_.spec.begin_s = event.begin_s ? event.begin_s : job_.spec.begin_s;
    return {};
  }

  std::string operator()(const JobStarted& event) {
    if (event.attempt != job_.attempts.size() + 1) {
      return fmt::format("attempt {} started after {}", event.attempt, job_.attempts.size());
    }
    job_.attempts.push_back({.start = event, .started_s = at_s_});
    job_.reason.clear();
    return move(JobState::Queued, JobState::Running, "started");
  }

  std::string operator()(const JobPaused& event) {
    if (job_.running() == nullptr || job_.attempts.back().pause) {
      return "paused while it does not run";
    }
    JobAttempt& attempt = job_.attempts.back();
    attempt.pause = event;
    attempt.pause_began_s = at_s_;
    ++attempt.pauses;
    return {};
  }

  std::string operator()(const JobResumed& /*event*/) {
    if (job_.running() == nullptr || !job_.attempts.back().pause) {
      return "resumed while it is not paused";
    }
    end_pause(at_s_);
    return {};
  }

  std::string operator()(const JobStopAsked& event) {
    if (job_.running() == nullptr) {
      return "asked to stop while it does not run";
    }
    job_.state = JobState::Stopping;
    job_.stop_final = job_.stop_final || event.final;
    job_.stop_by = event.by;
    job_.stop_reserve_bytes = event.reserve_bytes;
    job_.stop_reason = event.reason;
    return {};
  }

  std::string operator()(const JobEnded& event) {
    if (job_.running() == nullptr || event.attempt != job_.attempts.size()) {
      return fmt::format("attempt {} ended while it does not run", event.attempt);
    }
    JobAttempt& attempt = job_.attempts.back();
    // It may have ended a while before the server noticed.
    const double ended = event.exit.at_s > 0.0 ? event.exit.at_s : at_s_;
    attempt.ended_s = std::max(attempt.started_s, std::min(ended, at_s_));
    end_pause(*attempt.ended_s);
    attempt.exit = event.exit;
    attempt.peak_bytes = event.peak_bytes;
    attempt.progress = event.progress;
    attempt.processes = event.processes;
    attempt.energy_joules = event.energy_joules;
    job_.state = JobState::Stopping;
    job_.out_of_memory += event.exit.end == RunEnd::OutOfMemory ? 1U : 0U;
    return {};
  }

  std::string operator()(const JobRequeued& event) {
    if (job_.attempts.empty() || job_.running() != nullptr || job_.state != JobState::Stopping) {
      return "put back into the queue while it runs or waits";
    }
    job_.state = JobState::Queued;
    job_.queued_s = at_s_;
    job_.reason = event.reason;
    job_.exclusive = job_.exclusive || event.exclusive;
    if (event.reserve_bytes) {
      job_.reserve_bytes = std::max(job_.reserve_bytes.value_or(0), *event.reserve_bytes);
    }
    job_.stop_final = false;
    job_.stop_by.clear();
    job_.stop_reserve_bytes.reset();
    job_.stop_reason.clear();
    return {};
  }

  std::string operator()(const JobClosed& event) {
    if (job_.running() != nullptr) {
      return "closed while it runs";
    }
    job_.state = event.end == RunEnd::Succeeded   ? JobState::Succeeded
                 : event.end == RunEnd::Cancelled ? JobState::Cancelled
                                                  : JobState::Failed;
    job_.end = event.end;
    job_.ended_s = at_s_;
    job_.reason = event.reason;
    // It never starts again: what only a start needs would fill the memory of a server that has
    // seen many jobs. A command that tells of its end needs its environment.
    if (job_.spec.notify.empty()) {
      job_.spec.env.clear();
    }
    job_.attempts.shrink_to_fit();
    return {};
  }

 private:
  void end_pause(double at_s) {
    JobAttempt& attempt = job_.attempts.back();
    if (attempt.pause) {
      attempt.paused_s += std::max(at_s - attempt.pause_began_s, 0.0);
      attempt.pause.reset();
    }
  }

  std::string move(JobState from, JobState to, std::string_view what) {
    if (job_.state != from) {
      return fmt::format("{} in state {}", what, job_.code());
    }
    job_.state = to;
    return {};
  }

  JobRecord& job_;
  JobId id_;
  double at_s_;
};

}  // namespace

double JobAttempt::paused_until(double now_s) const {
  return paused_s + (pause ? std::max(now_s - pause_began_s, 0.0) : 0.0);
}

double JobAttempt::ran_s(double now_s) const {
  const double until_s = ended_s.value_or(pause ? pause_began_s : now_s);
  return std::max(until_s - started_s - paused_s, 0.0);
}

const JobAttempt* JobRecord::running() const {
  return attempts.empty() || attempts.back().ended_s ? nullptr : &attempts.back();
}

unsigned JobRecord::ends(RunEnd which) const {
  return static_cast<unsigned>(std::ranges::count_if(attempts, [&](const JobAttempt& attempt) {
    return attempt.ended_s && attempt.exit.end == which;
  }));
}

unsigned JobRecord::processes() const {
  unsigned most = 1;
  for (const JobAttempt& attempt : attempts) {
    most = std::max(most, attempt.processes);
  }
  return most;
}

// Older versions divided by what earlier attempts showed, and did not write it down.
unsigned JobRecord::cap_processes() const {
  unsigned most = attempts.empty() ? 1 : attempts.back().start.processes;
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) {
    most = std::max(most, attempts[i].processes);
  }
  return most;
}

std::optional<JobId> JobRecord::array_job() const {
  return spec.array_index ? std::optional(spec.array_job.value_or(id)) : std::nullopt;
}

bool JobRecord::recovering() const {
  if (attempts.empty() || !attempts.back().ended_s) {
    return false;
  }
  const RunEnd last = attempts.back().exit.end;
  return last == RunEnd::OutOfMemory || last == RunEnd::OverCap || last == RunEnd::MpsFault ||
         last == RunEnd::Lost || last == RunEnd::NeverStarted || last == RunEnd::MachineTrouble;
}

std::string_view JobRecord::code() const {
  switch (state) {
    case JobState::Queued:
      return "PD";
    case JobState::Held:
      return "H";
    case JobState::Running:
      return running() != nullptr && attempts.back().pause ? "S" : "R";
    case JobState::Stopping:
      return "CG";
    case JobState::Succeeded:
      return "CD";
    case JobState::Cancelled:
      return "CA";
    case JobState::Failed:
      break;
  }
  return end == RunEnd::OutOfMemory ? "OOM" : end == RunEnd::TimeLimit ? "TO" : "F";
}

Result<void> apply(JobRecord& job, const JobEvent& event) {
  const bool first = std::holds_alternative<JobSubmitted>(event.what);
  std::string wrong = job.over()                      ? "an event after its end"
                      : !first && job.id != event.job ? "it was never submitted"
                                                      : std::string();
  if (wrong.empty()) {
    wrong = std::visit(Change(job, event), event.what);
  }
  if (!wrong.empty()) {
    return fail(
        ErrorCode::Corrupt,
        fmt::format(
            "journal of jobs: event {} does not fit job {}: {}", event.sequence, event.job, wrong));
  }
  return {};
}

}  // namespace carpool
