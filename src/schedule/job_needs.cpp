#include "schedule/job_needs.hpp"

#include <algorithm>

namespace carpool::schedule {
namespace {

// A job that needs more of a GPU than this runs there alone: the driver and other contexts need
// the rest.
constexpr double kWholeGpu = 0.9;
// What a job is expected to take while nothing at all is known, in seconds. Only its place in the
// queue depends on it.
constexpr double kUnknownRuntime = 2400.0;
// Beside others a job may take this many times its run time.
constexpr double kSlowest = 2.0;

}  // namespace

JobNeeds::JobNeeds(std::uint64_t largest_gpu_bytes, bool use_history)
    : use_history_(use_history),
      usable_bytes_(
          static_cast<std::uint64_t>(static_cast<double>(largest_gpu_bytes) * kWholeGpu)) {}

void JobNeeds::update(LiveJob& job) const {
  if (job.history_seen == version_ && job.reserve_seen == job.record->reserve_bytes) {
    return;
  }
  job.history_seen = version_;
  job.reserve_seen = job.record->reserve_bytes;
  update_memory(job);
  update_time(job);
}

// What the owner gave, raised by runs that needed more. What earlier runs took replaces an
// estimate, which a run that did not finish only raises. What its own failures taught raises all.
void JobNeeds::update_memory(LiveJob& job) const {
  const JobRecord& record = *job.record;
  QueuedJob& view = job.view;
  view.need_bytes = record.spec.mem_bytes;
  view.need_basis = !view.need_bytes       ? NeedBasis::Unknown
                    : record.spec.mem_auto ? NeedBasis::Estimated
                                           : NeedBasis::Told;
  job.needs_all = false;
  const auto past = use_history_ ? history_.need(record.owner.uid, job.key) : std::nullopt;
  const bool replaces = view.need_basis == NeedBasis::Estimated && past && past->finished;
  if (past && (replaces || past->peak_bytes > view.need_bytes.value_or(0))) {
    view.need_bytes =
        std::max(std::min(past->bytes, usable_bytes_), replaces ? 0 : view.need_bytes.value_or(0));
    view.need_basis = past->finished ? NeedBasis::Finished : NeedBasis::Seen;
    job.needs_all = past->finished && past->bytes >= usable_bytes_;
  }
  if (const auto failed = record.reserve_bytes; failed && *failed >= view.need_bytes.value_or(0)) {
    view.need_bytes = std::max(std::min(*failed, usable_bytes_), view.need_bytes.value_or(0));
    view.need_basis = NeedBasis::Failure;
    job.needs_all = *failed >= usable_bytes_;
  }
}

// What the owner gave, else earlier runs. Where neither says anything, the job's place in the queue
// follows what is usual, which policies do not see. A time limit only bounds it.
void JobNeeds::update_time(LiveJob& job) const {
  const JobSpec& spec = job.record->spec;
  const std::uint32_t uid = job.record->owner.uid;
  std::optional<double> runtime = spec.runtime_s;
  if (!runtime && use_history_) {
    runtime = history_.runtime_s(uid, job.key);
  }
  const auto usual = runtime || !use_history_ ? runtime : history_.usual_runtime_s(uid);
  const double limit = spec.time_s.value_or(kNoTime);
  job.view.runtime_s = runtime ? std::optional(std::min(*runtime, limit)) : std::nullopt;
  job.expected_s = std::min(usual.value_or(kUnknownRuntime), limit);
  job.longest_s = std::min(runtime ? kSlowest * *runtime : kNoTime, limit);
}

// An attempt that had too little wanted at least what it asked for last, and had at least its cap:
// a peak that was measured between two samples may be lower.
void JobNeeds::learn(const LiveJob& job, PastRun run) {
  if (!learning_ || !use_history_) {
    return;
  }
  if (run.end == RunEnd::OverCap && !job.record->attempts.empty()) {
    const JobAttempt& attempt = job.record->attempts.back();
    run.peak_bytes = std::max({run.peak_bytes.value_or(0),
                               attempt.start.cap_bytes.value_or(0),
                               attempt.exit.held_bytes.value_or(0)});
  }
  history_.learn(job.record->owner.uid, job.key, run);
  ++version_;
}

void JobNeeds::replace_history(JobHistory history) {
  history_ = std::move(history);
  learning_ = false;
}

}  // namespace carpool::schedule
