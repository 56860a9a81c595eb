#include "app/server/server_knowledge.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "core/workload_identity.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// "gate-mps": launches of some neighbours wait for requests, and kernels run at the same time.
std::string_view sharing_name(const knowledge::Beliefs::Served& served) {
  const bool gated = std::ranges::any_of(served.beside, &LatencyNeighbour::gated);
  return served.beside.empty() ? "alone"
         : served.mps          ? (gated ? "gate-mps" : "mps")
                               : (gated ? "gate-time" : "time-slicing");
}

json served_object(const knowledge::Beliefs::Served& served, const ShownTime& shown) {
  json beside = json::array();
  for (const LatencyNeighbour& neighbour : served.beside) {
    beside.push_back(
        {{"workload", std::string(workload_name(neighbour.workload))}, {"gated", neighbour.gated}});
  }
  json made = {{"beside", std::move(beside)},
               {"sharing", sharing_name(served)},
               {"quantile", served.goal.quantile},
               {"p50_ms", served.latency.p50_ms},
               {"tail_ms", served.latency.tail_ms},
               {"tail_low_ms", served.latency.tail90.low},
               {"tail_high_ms", served.latency.tail90.high},
               {"requests", served.latency.requests},
               {"seen_s", shown(served.at_s)}};
  if (!served.beside.empty()) {
    made["slo_ms"] = served.goal.slo_ms;
  }
  return made;
}

json row_object(const knowledge::Beliefs::Row& row, const ShownTime& shown) {
  json out = {{"workload", std::string(workload_name(row.workload))},
              {"sm_active", row.belief.sm_active},
              {"sm_active_low", row.belief.sm_active90.low},
              {"sm_active_high", row.belief.sm_active90.high},
              {"assumed_sm_active", row.belief.assumed_sm_active},
              {"measured_s", row.belief.measured_s},
              {"measured_alone", row.belief.alone},
              {"runs", row.runs},
              {"seen_s", shown(row.seen_at_s)}};
  const auto put = [&out](const char* key, const auto& value) {
    if (value) {
      out[key] = *value;
    }
  };
  put("uid", workload_uid(row.workload));
  if (row.belief.window) {
    out["kernel_window"] = {{"sm_active", row.belief.window->sm_active},
                            {"over_s", row.belief.window->over_s},
                            {"alone", row.belief.window->alone}};
  }
  put("solo_rate", row.belief.solo_rate);
  if (row.belief.solo_rate) {
    out["solo_rate_unit"] = row.solo_unit;
  }
  put("runtime_s", row.runtime_s);
  put("startup_s", row.startup_s);
  put("peak_bytes", row.peak_bytes);
  if (row.belief.processes > 1) {
    out["processes"] = row.belief.processes;
  }
  json beside = json::array();
  for (const auto& other : row.beside) {
    beside.push_back({{"workload", std::string(workload_name(other.workload))},
                      {"progress", other.forecast.progress},
                      {"progress_low", other.forecast.interval90.low},
                      {"progress_high", other.forecast.interval90.high}});
  }
  if (!beside.empty()) {
    out["beside"] = std::move(beside);
  }
  for (const auto& served : row.served) {
    out["latencies"].push_back(served_object(served, shown));
  }
  return out;
}

}  // namespace

std::filesystem::path beliefs_file(const std::filesystem::path& state) {
  return state / "knowledge.json";
}

std::unique_ptr<knowledge::Beliefs> open_beliefs(const std::filesystem::path& state,
                                                 const knowledge::BeliefSettings& settings,
                                                 std::unique_ptr<InterferenceModel> prior) {
  const std::filesystem::path file = beliefs_file(state);
  // The first try takes no prior: it may fail, and the prior is needed once.
  if (auto opened = knowledge::Beliefs::open(file, settings); !opened) {
    const std::filesystem::path aside = file.string() + ".damaged";
    std::error_code problem;
    std::filesystem::rename(file, aside, problem);
    log_warning(
        fmt::format("{}; the server learns anew{}",
                    opened.error().message,
                    problem ? "" : fmt::format(", and the file is now {}", aside.string())));
    return std::make_unique<knowledge::Beliefs>(settings, std::move(prior));
  }
  return std::move(*knowledge::Beliefs::open(file, settings, std::move(prior)));
}

void save_beliefs(const knowledge::Beliefs& beliefs, const std::filesystem::path& state) {
  if (const auto saved = beliefs.save(beliefs_file(state)); !saved) {
    log_warning(
        fmt::format("what was learned of workloads is not saved: {}", saved.error().message));
  }
}

json beliefs_object(const knowledge::Beliefs& beliefs,
                    std::optional<std::uint32_t> uid,
                    const ShownTime& shown) {
  json rows = json::array();
  for (const auto& row : beliefs.rows()) {
    if (!uid || workload_uid(row.workload) == uid) {
      rows.push_back(row_object(row, shown));
    }
  }
  const auto coverage = beliefs.coverage();
  const auto latencies = beliefs.latency_coverage();
  return {{"version", 1},
          {"workloads", std::move(rows)},
          {"coverage", {{"inside", coverage.inside}, {"all", coverage.all}}},
          {"latency_coverage", {{"inside", latencies.inside}, {"all", latencies.all}}}};
}

}  // namespace carpool::app
