#include "observe/progress_schedule.hpp"

#include <algorithm>
#include <utility>

namespace carpool::observe {

void ProgressSchedule::follow(double now_s, const ComputingGroup& group) {
  std::set<JobId> jobs(group.jobs.begin(), group.jobs.end());
  Gpu& gpu = gpus_[group.gpu];
  if (jobs == gpu.jobs) {
    return;
  }
  gpu.newcomer = std::ranges::any_of(jobs, [&](JobId job) { return !known_.contains(job); });
  gpu.changed_s = now_s;
  gpu.next_s = now_s + (gpu.newcomer ? times_.after_newcomer_s : times_.after_change_s);
  gpu.jobs = std::move(jobs);
}

void ProgressSchedule::forget(double now_s, std::span<const ComputingGroup> groups) {
  std::erase_if(gpus_, [&](const auto& entry) {
    return std::ranges::none_of(groups, [&](const ComputingGroup& group) {
      return group.gpu == entry.first && !group.jobs.empty();
    });
  });
  known_.clear();
  for (const ComputingGroup& group : groups) {
    known_.insert(group.jobs.begin(), group.jobs.end());
  }
  std::erase_if(windows_s_, [&](const auto& entry) {
    return !known_.contains(entry.first) && now_s - entry.second >= times_.least_between_s;
  });
}

bool ProgressSchedule::may_open(double now_s, const Gpu& gpu) const {
  return now_s >= gpu.next_s && std::ranges::all_of(gpu.jobs, [&](JobId job) {
           const auto last = windows_s_.find(job);
           return last == windows_s_.end() || now_s - last->second >= times_.least_between_s;
         });
}

std::set<JobId> ProgressSchedule::due(double now_s, std::span<const ComputingGroup> groups) {
  for (const ComputingGroup& group : groups) {
    follow(now_s, group);
  }
  forget(now_s, groups);
  std::set<JobId> opened;
  for (auto& [index, gpu] : gpus_) {
    if (may_open(now_s, gpu)) {
      opened.insert(gpu.jobs.begin(), gpu.jobs.end());
      gpu.next_s = now_s + (std::exchange(gpu.newcomer, false) ? times_.again_s : times_.at_rest_s);
    }
  }
  for (const JobId job : opened) {
    windows_s_[job] = now_s;
  }
  return opened;
}

std::optional<double> ProgressSchedule::changed_s(JobId job) const {
  std::optional<double> latest;
  for (const auto& [index, gpu] : gpus_) {
    if (gpu.jobs.contains(job)) {
      latest = std::max(latest.value_or(gpu.changed_s), gpu.changed_s);
    }
  }
  return latest;
}

}  // namespace carpool::observe
