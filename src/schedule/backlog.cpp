#include "schedule/backlog.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace carpool::schedule {
namespace {

// Jobs get another place if they are expected to take this many times longer or shorter.
constexpr double kOtherTime = 1.1;

}  // namespace

std::string FrontReservation::words() const {
  return fmt::format("reserved for job {}, which has waited too long", job);
}

void Backlog::enter(LiveJob& job, double now_s) {
  const JobRecord& record = *job.record;
  needs_.update(job);  // explanations also show those that do not enter
  if (record.state != JobState::Queued || job.after > 0) {
    return;
  }
  if (!pass_aside(job, now_s)) {
    return;
  }
  if (recovery_ == RecoveryRule::Carma && record.exclusive && record.out_of_memory > 0) {
    alone_first_.insert(record.id);
  }
  update_view(job, now_s);
  put_in_line(job);
  same_work_[job.view.workload].insert(record.id);
  if (!job.view.runtime_s) {
    guessed_[record.owner.uid].insert(record.id);
  }
  newcomers_.push_back(record.id);
  look_at(record.attempts.empty() ? Look::Newcomers : Look::Everything);
}

bool Backlog::pass_aside(LiveJob& job, double now_s) {
  const JobRecord& record = *job.record;
  if (const auto begin_s = record.spec.begin_s; begin_s && *begin_s > now_s) {
    later_.insert_or_assign(record.id, Later{.job = &job, .begin_s = *begin_s});
    begins_.emplace(*begin_s, record.id);
    return false;
  }
  // It did not wait before the time that its owner chose.
  job.eligible_s = std::max(job.eligible_s, record.spec.begin_s.value_or(job.eligible_s));
  const auto first = record.array_job();
  if (!record.spec.array_limit || !first) {
    return true;
  }
  LimitedArray& array = arrays_[*first];
  const bool passes =
      array.inside.contains(record.id) || array.inside.size() < *record.spec.array_limit;
  if (passes) {
    array.inside.insert(record.id);
  } else {
    array.aside.emplace(record.id, &job);
  }
  return passes;
}

void Backlog::leave_aside(const LiveJob& job) {
  const JobRecord& record = *job.record;
  if (const auto later = later_.find(record.id); later != later_.end()) {
    begins_.erase({later->second.begin_s, record.id});
    later_.erase(later);
  }
  const auto array = arrays_.find(record.array_job().value_or(0));
  if (array == arrays_.end()) {
    return;
  }
  array->second.aside.erase(record.id);
  if (record.running() != nullptr) {
    array->second.inside.insert(record.id);
    return;
  }
  array->second.inside.erase(record.id);
  arrays_left_.insert(array->first);
}

void Backlog::enter_due(double now_s) {
  while (!begins_.empty() && begins_.begin()->first <= now_s) {
    const JobId id = begins_.begin()->second;
    begins_.erase(begins_.begin());
    enter(*later_.extract(id).mapped().job, now_s);
  }
  for (const JobId first : std::exchange(arrays_left_, {})) {
    LimitedArray& array = arrays_.at(first);
    while (!array.aside.empty() &&
           array.inside.size() < *array.aside.begin()->second->record->spec.array_limit) {
      enter(*array.aside.extract(array.aside.begin()).mapped(), now_s);
    }
    if (array.inside.empty() && array.aside.empty()) {
      arrays_.erase(first);
    }
  }
}

std::optional<double> Backlog::next_begin_s() const {
  return begins_.empty() ? std::nullopt : std::optional(begins_.begin()->first);
}

std::optional<double> Backlog::begins_s(JobId job) const {
  const auto found = later_.find(job);
  return found == later_.end() ? std::nullopt : std::optional(found->second.begin_s);
}

bool Backlog::array_is_full(const LiveJob& job) const {
  const auto array = arrays_.find(job.record->array_job().value_or(0));
  return array != arrays_.end() && array->second.aside.contains(job.record->id);
}

bool Backlog::contains(const LiveJob& job) const {
  return line_.contains(job.record->id) || later_.contains(job.record->id) || array_is_full(job);
}

Waiting Backlog::waiting_of(const LiveJob& job) const {
  const JobRecord& record = *job.record;
  return {.job = record.id,
          .uid = record.owner.uid,
          .job_class = record.spec.job_class,
          .priority = record.spec.priority,
          .recovering = record.recovering(),
          .first = alone_first_.contains(record.id),
          .gpus = record.spec.gpus,
          .since_s = job.eligible_s,
          .expected_s = job.expected_s};
}

void Backlog::put_in_line(LiveJob& job) {
  line_.enter(waiting_of(job));
  placed_.insert_or_assign(job.record->id, Placed{.job = &job, .expected_s = job.expected_s});
}

void Backlog::learned(const LiveJob& ended) {
  const auto guessed = guessed_.find(ended.view.uid);
  if (const auto same = same_work_.find(ended.view.workload); same != same_work_.end()) {
    place_again(same->second);
    for (const JobId job : same->second) {
      if (guessed != guessed_.end() && placed_.at(job).job->view.runtime_s) {
        guessed->second.erase(job);
      }
    }
  }
  if (guessed != guessed_.end()) {
    place_again(guessed->second);
  }
}

// What is expected of one of them is expected of all; small changes do not matter.
void Backlog::place_again(const std::set<JobId>& jobs) {
  for (const JobId id : jobs) {
    Placed& placed = placed_.at(id);
    needs_.update(*placed.job);
    const double ratio = placed.job->expected_s / std::max(placed.expected_s, 1.0);
    const bool same = ratio < kOtherTime && ratio > 1.0 / kOtherTime;
    const JobSpec& spec = placed.job->record->spec;
    if (same && !spec.runtime_s && !spec.time_s) {
      return;
    }
    if (same) {
      continue;  // its owner says how long it takes; that of the others may be learned
    }
    line_.leave(id);
    put_in_line(*placed.job);
  }
}

void Backlog::leave(const LiveJob& left) {
  leave_aside(left);
  const JobId job = left.record->id;
  if (const auto placed = placed_.find(job); placed != placed_.end()) {
    const QueuedJob& view = placed->second.job->view;
    if (const auto same = same_work_.find(view.workload);
        same != same_work_.end() && same->second.erase(job) > 0 && same->second.empty()) {
      same_work_.erase(same);
    }
    if (const auto guessed = guessed_.find(view.uid); guessed != guessed_.end()) {
      guessed->second.erase(job);
    }
    placed_.erase(placed);
  }
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
    ++deferrals_made_[deferral.constraint];
  }
}

std::map<Constraint, std::uint64_t> Backlog::deferred_now() const {
  std::map<Constraint, std::uint64_t> jobs;
  for (const auto& [job, deferral] : deferrals_) {
    ++jobs[deferral.constraint];
  }
  return jobs;
}

const Deferral* Backlog::deferral(JobId job) const {
  const auto found = deferrals_.find(job);
  return found == deferrals_.end() ? nullptr : &found->second;
}

}  // namespace carpool::schedule
