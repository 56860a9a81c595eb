#include "app/server/shim/shim_watch.hpp"

#include <algorithm>

#include "interpose/state/reader.hpp"

namespace carpool::app {
namespace {

interpose::StateReport shared_report(const std::string& folder,
                                     const std::string& uuid,
                                     uid_t uid) {
  interpose::StateReader state;
  interpose::StateReport report;
  if (state.open(folder, uuid, uid) != interpose::StateError::None ||
      state.read(report) != interpose::StateError::None) {
    return {};
  }
  return report;
}

}  // namespace

std::vector<ShimTarget> shim_targets(const schedule::Scheduler& scheduler) {
  std::vector<ShimTarget> targets;
  for (const GpuView& gpu : scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      const JobRecord* record = scheduler.find(resident.job);
      if (record != nullptr && resident.mechanism != ShareMechanism::None) {
        targets.push_back({.job = resident.job,
                           .uid = user_of(record->owner),
                           .gpu = gpu.index,
                           .uuid = gpu.uuid});
      }
    }
  }
  return targets;
}

void ShimWatch::look(const std::vector<ShimTarget>& targets) {
  seen_.clear();
  std::erase_if(strange_, [&](const auto& entry) {
    return std::ranges::find(targets, entry.first.first, &ShimTarget::job) == targets.end();
  });
  std::map<std::pair<uid_t, std::string>, interpose::StateReport> reports;
  for (const ShimTarget& target : targets) {
    const auto [place, is_new] = reports.try_emplace({target.uid, target.uuid});
    if (is_new) {
      place->second = shared_report(place_.state_of(target.uid).string(), target.uuid, target.uid);
    }
    const interpose::StateReport& report = place->second;
    const auto number = static_cast<std::uint64_t>(target.job);
    if (std::ranges::find(report.jobs, number, &interpose::JobReport::job) == report.jobs.end()) {
      continue;
    }
    Seen& seen = seen_[{target.job, target.gpu}];
    for (const interpose::ClientReport& client : report.clients) {
      if (client.job == number) {
        ++seen.clients;
        seen.launches += client.launches + client.graph_launches;
      }
    }
  }
}

std::vector<JobId> ShimWatch::escaped(const std::vector<GpuObservation>& seen) {
  // A process that has just begun, or ended, is not yet, or still, known to one of the two.
  constexpr unsigned kLooks = 3;
  std::vector<JobId> out;
  for (const GpuObservation& gpu : seen) {
    for (const GpuObservation::JobSeen& job : gpu.jobs) {
      const std::pair<JobId, unsigned> key{job.job, gpu.gpu};
      const auto known = seen_.find(key);
      if (known == seen_.end() || job.processes <= known->second.clients) {
        strange_.erase(key);
      } else if (++strange_[key] >= kLooks) {
        out.push_back(job.job);
      }
    }
  }
  return out;
}

std::optional<std::uint64_t> ShimWatch::launches(JobId job) const {
  std::uint64_t sum = 0;
  unsigned clients = 0;
  for (auto place = seen_.lower_bound({job, 0}); place != seen_.end() && place->first.first == job;
       ++place) {
    sum += place->second.launches;
    clients += place->second.clients;
  }
  return clients > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace carpool::app
