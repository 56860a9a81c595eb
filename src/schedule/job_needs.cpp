#include "schedule/job_needs.hpp"

#include <algorithm>

namespace carpool::schedule {
namespace {

// A job that needs more of a GPU than this runs there alone: the driver and other contexts need
// the rest.
constexpr double kWholeGpu = 0.9;

}  // namespace

JobNeeds::JobNeeds(std::uint64_t largest_gpu_bytes, bool use_history)
    : use_history_(use_history),
      usable_bytes_(
          static_cast<std::uint64_t>(static_cast<double>(largest_gpu_bytes) * kWholeGpu)) {}

// Memory: what the owner gave, else what earlier runs took; raised by what its failures taught. Run
// time: what the owner gave, else earlier runs, else the time limit.
void JobNeeds::update(LiveJob& job) const {
  const JobRecord& record = *job.record;
  if (job.history_seen == version_ && job.reserve_seen == record.reserve_bytes) {
    return;
  }
  job.history_seen = version_;
  job.reserve_seen = record.reserve_bytes;
  std::optional<std::uint64_t> need = record.spec.mem_bytes;
  std::optional<std::uint64_t> learned = record.reserve_bytes;
  std::optional<double> runtime = record.spec.runtime_s;
  if (use_history_) {
    const std::uint32_t uid = record.owner.uid;
    const auto past = need ? std::nullopt : history_.need_bytes(uid, job.key);
    learned = past ? std::max(learned.value_or(0), *past) : learned;
    runtime = runtime ? runtime : history_.runtime_s(uid, job.key);
  }
  if (learned) {
    job.needs_all = *learned >= usable_bytes_;
    need = std::max(need.value_or(0), std::min(*learned, usable_bytes_));
  }
  job.view.need_bytes = need;
  job.view.runtime_s = runtime ? runtime : record.spec.time_s;
}

void JobNeeds::learn(const LiveJob& job, const PastRun& run) {
  if (learning_ && use_history_) {
    history_.learn(job.record->owner.uid, job.key, run);
    ++version_;
  }
}

void JobNeeds::replace_history(JobHistory history) {
  history_ = std::move(history);
  learning_ = false;
}

}  // namespace carpool::schedule
