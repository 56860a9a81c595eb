#include "schedule/backlog.hpp"

#include <algorithm>

namespace carpool::schedule {

void Backlog::enter(LiveJob& job, double now_s) {
  const JobRecord& record = *job.record;
  if (record.state != JobState::Queued || job.after > 0) {
    return;
  }
  const bool alone =
      recovery_ == RecoveryRule::Carma && record.exclusive && record.out_of_memory > 0;
  if (alone) {
    alone_first_.insert(record.id);
  }
  update_view(job, now_s);
  line_.enter({.job = record.id,
               .uid = record.owner.uid,
               .job_class = record.spec.job_class,
               .priority = record.spec.priority,
               .recovering = record.recovering(),
               .first = alone,
               .gpus = record.spec.gpus,
               .since_s = job.eligible_s,
               .runtime_s = job.view.runtime_s});
  newcomers_.push_back(record.id);
  look_at(record.attempts.empty() ? Look::Newcomers : Look::Everything);
}

void Backlog::leave(JobId job) {
  line_.leave(job);
  deferrals_.erase(job);
  const bool shared_again = alone_first_.erase(job) > 0;
  if (shared_again || job == reservation_.job) {
    look_at(Look::Everything);  // other jobs may share again, or have its GPUs
  }
  if (job == reservation_.job) {
    reservation_ = {};
  }
}

void Backlog::update_view(LiveJob& job, double now_s) const {
  needs_.update(job);
  job.view.waited_s = std::max(now_s - job.eligible_s, 0.0);
  job.view.failures = job.record->out_of_memory;
  job.view.exclusive = job.record->exclusive || job.needs_all || !alone_first_.empty();
}

void Backlog::look_at(Look what) {
  look_ = std::max(look_, what);
}

std::vector<JobId> Backlog::newcomers() const {
  std::vector<JobId> sorted = newcomers_;
  std::ranges::sort(sorted);
  return sorted;
}

void Backlog::decided() {
  look_ = Look::Nothing;
  newcomers_.clear();
}

void Backlog::defer(const Deferral& deferral) {
  if (line_.contains(deferral.job)) {
    deferrals_.insert_or_assign(deferral.job, deferral);
  }
}

const Deferral* Backlog::deferral(JobId job) const {
  const auto found = deferrals_.find(job);
  return found == deferrals_.end() ? nullptr : &found->second;
}

}  // namespace carpool::schedule
