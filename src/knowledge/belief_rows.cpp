#include "knowledge/belief_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "knowledge/beliefs_json.hpp"
#include "knowledge/group_forecast.hpp"
#include "knowledge/latency/latency_forecast.hpp"

namespace carpool::knowledge {
namespace {

struct MeasuredNeighbour {
  double at_s = 0.0;
  std::uint32_t slot = kNone;
};

// A workload's requests, alone and in groups.
using ServedBy = std::map<std::uint32_t, std::vector<Beliefs::Served>>;

ServedBy served_requests(const BeliefStore& store) {
  ServedBy made;
  for (const UserBelief& user : store.users()) {
    for (const auto& [key, entry] : user.latencies.entries()) {
      Beliefs::Served served{.mps = key.mps,
                             .goal = entry.goal,
                             .latency = measured_latency(store, entry),
                             .at_s = entry.log_tail_ms.at_s};
      for (const LatencyMemory::Neighbour& neighbour : key.beside) {
        served.beside.push_back(
            {.workload = store.workloads()[neighbour.workload].name, .gated = neighbour.gated});
      }
      made[key.workload].push_back(std::move(served));
    }
  }
  for (auto& [slot, list] : made) {
    std::ranges::sort(list, {}, [](const Beliefs::Served& served) {
      return std::pair(!served.beside.empty(), -served.at_s);
    });
  }
  return made;
}

using Neighbours = std::map<std::uint32_t, std::vector<MeasuredNeighbour>>;

Neighbours measured_pairs(const BeliefStore& store) {
  Neighbours made;
  for (const UserBelief& user : store.users()) {
    for (const auto& [key, entry] : user.groups.entries()) {
      if (key.size() != 2) {
        continue;
      }
      for (const GroupMemory::Speed& speed : entry.speeds) {
        const std::uint32_t other = speed.workload == key.front() ? key.back() : key.front();
        made[speed.workload].push_back({.at_s = entry.at_s, .slot = other});
      }
    }
  }
  return made;
}

Beliefs::Beside beside(const BeliefStore& store, const WorkloadState& one, std::uint32_t other) {
  const std::array group = {&one.member, &store.workloads()[other].member};
  const std::array named = {InterferenceMember{.workload = one.name},
                            InterferenceMember{.workload = store.workloads()[other].name}};
  return {.workload = store.workloads()[other].name,
          .forecast = group_forecast(store, group, prior_progress(store, named), true).front()};
}

// As belief_of() chooses.
std::string solo_unit_of(const WorkloadState& workload) {
  const auto known = std::ranges::find_if(workload.solo, [](const auto& solo) { return !!solo; });
  return known == workload.solo.end()
             ? std::string()
             : kSourceKeys.at(static_cast<std::size_t>(known - workload.solo.begin()));
}

}  // namespace

WorkloadBelief belief_of(const BeliefStore& store, const WorkloadState& workload) {
  const double wide = kDeviations90 * std::sqrt(store.activity_variance(workload));
  WorkloadBelief made{.sm_active = workload.activity.mean,
                      .sm_active90 = {.low = std::max(workload.activity.mean - wide, 0.0),
                                      .high = std::min(workload.activity.mean + wide, 1.0)},
                      .assumed_sm_active = workload.assumed_activity,
                      .measured_s = workload.measured_s,
                      .alone = workload.alone,
                      .processes = workload.processes};
  if (workload.window) {
    made.window = {.sm_active = workload.window->activity.mean,
                   .over_s = workload.window->over_s,
                   .alone = workload.window->alone};
  }
  for (const auto& solo : workload.solo) {
    if (solo) {
      made.solo_rate = std::exp(solo->log_rate.mean);
      break;  // in the order of ProgressSource: steps first
    }
  }
  return made;
}

std::vector<Beliefs::Row> belief_rows(const BeliefStore& store) {
  constexpr std::size_t kMostNeighbours = 16;
  Neighbours neighbours = measured_pairs(store);
  ServedBy served = served_requests(store);
  std::vector<Beliefs::Row> rows;
  for (const WorkloadState& workload : store.workloads()) {
    Beliefs::Row row{.workload = workload.name,
                     .belief = belief_of(store, workload),
                     .solo_unit = solo_unit_of(workload),
                     .runtime_s = workload.runtime_s,
                     .startup_s = workload.startup_s,
                     .peak_bytes = workload.peak_bytes,
                     .seen_at_s = workload.seen_at_s,
                     .runs = workload.runs};
    auto& near = neighbours[workload.member.slot];
    std::ranges::sort(near, {}, [](const MeasuredNeighbour& neighbour) {
      return std::pair(-neighbour.at_s, neighbour.slot);
    });
    near.resize(std::min(near.size(), kMostNeighbours));
    for (const MeasuredNeighbour& neighbour : near) {
      row.beside.push_back(beside(store, workload, neighbour.slot));
    }
    row.served = std::move(served[workload.member.slot]);
    row.served.resize(std::min(row.served.size(), kMostNeighbours));
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &Beliefs::Row::workload);
  return rows;
}

}  // namespace carpool::knowledge
