#include "schedule/advice/latency_advice.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/latency_words.hpp"
#include "core/workload_identity.hpp"

namespace carpool::schedule {
namespace {

struct GroupMember {
  JobId job = 0;
  std::string workload{};
  Gating gating = Gating::None;
  bool mps = false;
  LatencyGoal goal{};
  bool own = true;  // of the user who asks
};

std::string beside_words(const std::vector<std::string>& workloads) {
  std::vector<std::string> names;
  names.reserve(workloads.size());
  for (const std::string& workload : workloads) {
    names.emplace_back(workload_name(workload));
  }
  return names.empty() ? " alone" : fmt::format(" beside {}", fmt::join(names, " and "));
}

std::string measured_words(const WatchedLatency& watched, double quantile) {
  if (watched.tail_ms > 0.0) {
    return fmt::format(
        "; measured {} over {} requests", ms_words(watched.tail_ms), watched.requests);
  }
  return watched.requests > 0
             ? fmt::format("; {} requests so far, too few to know the {} of this group",
                           watched.requests,
                           quantile_name(quantile))
             : std::string();
}

}  // namespace

std::vector<GroupLatency> latencies_with(const InterferenceModel& model,
                                         const GpuView& gpu,
                                         const QueuedJob& job) {
  std::vector<GroupMember> group;
  for (const Resident& resident : gpu.residents) {
    if (resident.phase != ResidentPhase::Paused) {
      group.push_back({.job = resident.job,
                       .workload = resident.workload,
                       .gating = resident.gating,
                       .mps = resident.mechanism == ShareMechanism::Mps,
                       .goal = resident.goal,
                       .own = resident.uid == job.uid});
    }
  }
  group.push_back({.job = job.job,
                   .workload = job.workload,
                   .gating = job.gating,
                   .mps = gpu.shares_by_mps(job.job_class),
                   .goal = job.goal});
  std::vector<GroupLatency> made;
  for (const GroupMember& member : group) {
    if (!member.own || !(member.goal.slo_ms > 0.0)) {
      continue;
    }
    LatencyQuestion question{.workload = member.workload, .goal = member.goal, .mps = member.mps};
    for (const GroupMember& other : group) {
      if (other.job != member.job) {
        question.beside.push_back(
            {.workload = other.workload, .gated = waits_for_requests(other.gating, member.mps)});
      }
    }
    if (gpu.foreign) {
      question.beside.emplace_back();
    }
    if (const auto forecast = model.latency(question)) {
      made.push_back({.job = member.job, .goal = member.goal, .forecast = *forecast});
    }
  }
  return made;
}

std::string latency_words(const LatencyForecast& forecast, double quantile) {
  return fmt::format("{}, {}", tail_words(forecast, quantile), basis_words(forecast));
}

std::string promise_words(const InterferenceModel& model,
                          const QueuedJob& job,
                          const std::optional<WatchedLatency>& watched) {
  const double quantile = job.goal.quantile;
  std::string words = fmt::format("SLO {}; ", ms_words(job.goal.slo_ms));
  if (watched && watched->predicted) {
    words += fmt::format("predicted {}{}, {}",
                         tail_words(*watched->predicted, quantile),
                         beside_words(watched->beside),
                         basis_words(*watched->predicted));
    return words + measured_words(*watched, quantile);
  }
  if (watched) {
    words += fmt::format("not predicted{}: too little was known", beside_words(watched->beside));
    return words + measured_words(*watched, quantile);
  }
  if (const auto alone = model.latency({.workload = job.workload, .goal = job.goal})) {
    return words + fmt::format("alone {}", latency_words(*alone, quantile));
  }
  return words + "its latency alone was not measured yet";
}

}  // namespace carpool::schedule
