#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/json/json_put.hpp"
#include "knowledge/beliefs_json.hpp"

namespace carpool::knowledge {
namespace {

using nlohmann::json;

json list_of(const Believed& number) {
  return json::array({number.mean, number.variance, number.at_s});
}

json workload_json(const WorkloadState& workload) {
  json made = {{"name", workload.name},
               {"activity", list_of(workload.activity)},
               {"assumed_activity", workload.assumed_activity},
               {"sensitivity", list_of(workload.log_sensitivity)},
               {"pressure", list_of(workload.log_pressure)},
               {"seen_at_s", workload.seen_at_s}};
  if (workload.window) {
    json window = list_of(workload.window->activity);
    window.push_back(workload.window->over_s);
    window.push_back(workload.window->alone);
    if (workload.window->long_kernel_ms > 0.0) {
      window.push_back(workload.window->long_kernel_ms);
    }
    made["kernel_window"] = std::move(window);
  }
  put(made, "measured_s", workload.measured_s, 0.0);
  put(made, "alone", workload.alone, false);
  for (std::size_t source = 0; source < kProgressSources; ++source) {
    if (const auto& solo = workload.solo.at(source)) {
      json rate = list_of(solo->log_rate);
      rate.push_back(solo->alone);
      made[kSourceKeys.at(source)] = std::move(rate);
    }
  }
  put(made, "runtime_s", workload.runtime_s);
  put(made, "startup_s", workload.startup_s);
  put(made, "peak_bytes", workload.peak_bytes);
  put(made, "processes", workload.processes, 1U);
  put(made, "runs", workload.runs, std::size_t{0});
  return made;
}

}  // namespace

json user_list(const BeliefStore& store) {
  std::vector<json> workloads(store.users().size(), json::array());
  std::vector<std::uint32_t> places;
  for (const WorkloadState& workload : store.workloads()) {
    json& list = workloads[workload.member.user];
    places.push_back(static_cast<std::uint32_t>(list.size()));
    list.push_back(workload_json(workload));
  }
  std::vector<json> pairs(store.users().size(), json::array());
  const std::map<std::uint64_t, Believed> ordered(store.pairs().begin(), store.pairs().end());
  for (const auto& [key, factor] : ordered) {
    const std::uint64_t slowed = key >> 32U;
    pairs[store.workloads()[slowed].member.user].push_back(json::array(
        {places[slowed], places[key & 0xFFFF'FFFFU], factor.mean, factor.variance, factor.at_s}));
  }
  json made = json::array();
  for (std::size_t index = 0; index < store.users().size(); ++index) {
    const UserBelief& user = store.users()[index];
    json groups = json::array();
    for (const auto& [key, entry] : user.groups.entries()) {
      json group = {{"at_s", entry.at_s}, {"members", json::array()}, {"speeds", json::array()}};
      for (const std::uint32_t slot : key) {
        group["members"].push_back(places[slot]);
      }
      for (const GroupMemory::Speed& speed : entry.speeds) {
        group["speeds"].push_back(json::array({places[speed.workload],
                                               static_cast<unsigned>(speed.source),
                                               speed.log_rate.mean,
                                               speed.log_rate.variance,
                                               speed.log_rate.at_s}));
      }
      groups.push_back(std::move(group));
    }
    made.push_back({{"scope", user.scope},
                    {"contention", list_of(user.log_contention)},
                    {"tilt", list_of(user.tilt)},
                    {"inside", user.coverage.inside},
                    {"predictions", user.coverage.all},
                    {"law_width", user.law_width},
                    {"measured_width", user.measured_width},
                    {"latency_inside", user.latency_coverage.inside},
                    {"latency_predictions", user.latency_coverage.all},
                    {"latency_width", user.latency_width},
                    {"measured_latency_width", user.measured_latency_width},
                    {"latencies", latency_list(user.latencies, places)},
                    {"workloads", std::move(workloads[index])},
                    {"pairs", std::move(pairs[index])},
                    {"groups", std::move(groups)}});
  }
  return made;
}

}  // namespace carpool::knowledge
