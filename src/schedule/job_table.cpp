#include "schedule/job_table.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "core/workload_identity.hpp"

namespace carpool::schedule {

namespace {

bool holds(AfterRule rule, RunEnd end) {
  const bool succeeded = end == RunEnd::Succeeded;
  return rule == AfterRule::Ends || succeeded == (rule == AfterRule::Succeeds);
}

std::set<std::pair<JobId, AfterRule>> rules_of(const JobSpec& spec) {
  std::set<std::pair<JobId, AfterRule>> rules;
  for (const auto& [jobs, rule] : {std::pair(&spec.after, AfterRule::Succeeds),
                                   std::pair(&spec.after_any, AfterRule::Ends),
                                   std::pair(&spec.after_not_ok, AfterRule::Fails)}) {
    for (const JobId other : *jobs) {
      rules.emplace(other, rule);
    }
  }
  return rules;
}

// Member by member: g++ 12 takes a string that moves within an aggregate for uninitialized.
void describe(LiveJob& job, JobRecord& record) {
  job.record = &record;
  job.key = workload_key(record.spec);
  job.eligible_s = record.submitted_s;
  job.view.job = record.id;
  job.view.uid = record.owner.uid;
  job.view.workload = scoped_workload(record.owner.uid, job.key);
  job.view.job_class = record.spec.job_class;
  job.view.goal = latency_goal(record.spec);
  job.view.gating = gating_of(record.spec);
  job.view.priority = record.spec.priority;
  job.view.gpus = record.spec.gpus;
  job.view.gpu_filter = record.spec.gpu_filter;
}

}  // namespace

std::string JobTable::Doomed::reason() const {
  return succeeded ? fmt::format("job {}, whose failure it waits for, succeeded", cause)
                   : fmt::format("job {}, which it waits for, did not succeed", cause);
}

LiveJob* JobTable::live(JobId job) {
  const auto found = live_.find(job);
  return found == live_.end() ? nullptr : &found->second;
}

const LiveJob* JobTable::live(JobId job) const {
  const auto found = live_.find(job);
  return found == live_.end() ? nullptr : &found->second;
}

Result<LiveJob*> JobTable::live_or_error(JobId job) {
  if (LiveJob* found = live(job)) {
    return found;
  }
  const JobRecord* record = find(job);
  if (record == nullptr) {
    return not_found(fmt::format("there is no job {}", job));
  }
  return conflict(fmt::format("job {} has already ended ({})", job, record->code()));
}

const JobRecord* JobTable::find(JobId job) const {
  const auto found = records_.find(job);
  return found == records_.end() ? nullptr : &found->second;
}

std::vector<JobId> JobTable::ids() const {
  std::vector<JobId> ids;
  ids.reserve(records_.size());
  for (const auto& [id, record] : records_) {
    ids.push_back(id);
  }
  return ids;
}

std::vector<JobId> JobTable::begun() const {
  std::vector<JobId> begun;
  for (const auto& [id, job] : live_) {
    if (job.record->state == JobState::Running || job.record->state == JobState::Stopping) {
      begun.push_back(id);
    }
  }
  std::ranges::sort(begun);
  return begun;
}

Result<std::optional<RunEnd>> JobTable::outcome(JobId job) const {
  if (const JobRecord* record = find(job)) {
    return record->end;
  }
  return journal_.outcome(job);
}

bool JobTable::knows(JobId job) const {
  if (job <= 0 || job > last_job_) {
    return false;
  }
  if (find(job) != nullptr) {
    return true;
  }
  const auto end = journal_.outcome(job);
  return end && end->has_value();
}

std::size_t JobTable::live_jobs_of(std::uint32_t uid) const {
  const auto found = live_of_user_.find(uid);
  return found == live_of_user_.end() ? 0 : found->second;
}

void JobTable::raise_last_job(JobId job) {
  last_job_ = std::max(last_job_, job);
}

Result<LiveJob*> JobTable::apply(const JobEvent& event) {
  const bool first = std::holds_alternative<JobSubmitted>(event.what);
  const auto record = first ? records_.try_emplace(event.job).first : records_.find(event.job);
  if (record == records_.end()) {
    return fail(ErrorCode::Corrupt,
                fmt::format("journal of jobs: event {} is of job {}, which was never submitted",
                            event.sequence,
                            event.job));
  }
  if (auto applied = carpool::apply(record->second, event); !applied) {
    return tl::unexpected(applied.error());
  }
  return first ? add(record->second) : Result<LiveJob*>(&live_.at(event.job));
}

Result<JobTable::Dependencies> JobTable::dependencies(const JobRecord& record) const {
  Dependencies found;
  for (const auto& [other, rule] : rules_of(record.spec)) {
    const auto end = outcome(other);
    if (!end) {
      return tl::unexpected(end.error());
    }
    if (!*end) {
      found.open.emplace_back(other, rule);
    } else if (!holds(rule, **end)) {
      found.broken.push_back(
          {.job = record.id, .cause = other, .succeeded = **end == RunEnd::Succeeded});
    }
  }
  return found;
}

Result<LiveJob*> JobTable::add(JobRecord& record) {
  raise_last_job(record.id);
  LiveJob& job = live_[record.id];
  describe(job, record);
  const Result<Dependencies> waits_for = dependencies(record);
  if (!waits_for) {
    return tl::unexpected(waits_for.error());
  }
  for (const auto& [other, rule] : waits_for->open) {
    dependants_[other].emplace_back(record.id, rule);
  }
  doomed_.insert(doomed_.end(), waits_for->broken.begin(), waits_for->broken.end());
  job.after = waits_for->open.size() + waits_for->broken.size();
  ++live_of_user_[record.owner.uid];
  return &job;
}

Result<JobTable::Newcomer> JobTable::newcomer(JobRecord& record) const {
  Newcomer out;
  describe(out.job, record);
  return dependencies(record).map([&](const Dependencies& waits_for) {
    out.job.after = waits_for.open.size() + waits_for.broken.size();
    if (!waits_for.broken.empty()) {
      out.doomed = waits_for.broken.front();
    }
    return out;
  });
}

std::vector<LiveJob*> JobTable::close(JobId job, RunEnd end, double at_s) {
  const auto owned = live_of_user_.find(live_.at(job).record->owner.uid);
  if (owned != live_of_user_.end() && --owned->second == 0) {
    live_of_user_.erase(owned);
  }
  live_.erase(job);
  ended_.push_back(job);
  while (ended_.size() > keep_ended_) {
    records_.erase(ended_.front());
    ended_.pop_front();
  }
  std::vector<LiveJob*> freed;
  const auto waiting = dependants_.find(job);
  if (waiting == dependants_.end()) {
    return freed;
  }
  for (const auto& [other, rule] : waiting->second) {
    LiveJob* dependant = live(other);
    if (dependant == nullptr) {
      continue;
    }
    if (!holds(rule, end)) {
      doomed_.push_back({.job = other, .cause = job, .succeeded = end == RunEnd::Succeeded});
    } else if (--dependant->after == 0) {
      dependant->eligible_s = at_s;
      freed.push_back(dependant);
    }
  }
  dependants_.erase(waiting);
  return freed;
}

std::optional<JobTable::Doomed> JobTable::take_doomed() {
  if (doomed_.empty()) {
    return std::nullopt;
  }
  const Doomed last = doomed_.back();
  doomed_.pop_back();
  return last;
}

}  // namespace carpool::schedule
