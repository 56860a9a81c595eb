#include "app/output/simulate_output.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/placement_policy.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct ResultFigure {
  std::string_view heading;
  std::string_view key;
  int decimals;
  double (*value)(const simulate::SimulationResult&);
};

constexpr std::array kFigures = {
    ResultFigure{"makespan s",
                 "makespan_s",
                 0,
                 [](const simulate::SimulationResult& r) { return r.makespan_s; }},
    ResultFigure{"mean JCT s",
                 "mean_jct_s",
                 0,
                 [](const simulate::SimulationResult& r) { return r.mean_jct_s; }},
    ResultFigure{"p95 JCT s",
                 "p95_jct_s",
                 0,
                 [](const simulate::SimulationResult& r) { return r.p95_jct_s; }},
    ResultFigure{"mean wait s",
                 "mean_wait_s",
                 0,
                 [](const simulate::SimulationResult& r) { return r.mean_wait_s; }},
    ResultFigure{"execution x",
                 "execution_inflation",
                 2,
                 [](const simulate::SimulationResult& r) { return r.inflation; }},
    ResultFigure{
        "OOM",
        "out_of_memory",
        1,
        [](const simulate::SimulationResult& r) { return static_cast<double>(r.out_of_memory); }},
    ResultFigure{"energy MJ",
                 "energy_mj",
                 2,
                 [](const simulate::SimulationResult& r) { return r.energy_mj; }},
    ResultFigure{"SMACT",
                 "mean_sm_active",
                 3,
                 [](const simulate::SimulationResult& r) { return r.mean_sm_active; }},
};

std::string_view order_name(schedule::QueueOrder order) {
  for (const schedule::QueueOrderInfo& info : schedule::queue_orders()) {
    if (info.order == order) {
      return info.name;
    }
  }
  return "";
}

std::string_view recovery_name(schedule::RecoveryRule rule) {
  for (const schedule::RecoveryRuleInfo& info : schedule::recovery_rules()) {
    if (info.rule == rule) {
      return info.name;
    }
  }
  return "";
}

json spread_json(const simulate::Spread& spread) {
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}};
}

std::string signed_percent(double ratio) {
  return fmt::format("{:+.1f}", 100.0 * ratio);
}

}  // namespace

std::string policy_comparison_table(const std::vector<simulate::ComparisonRow>& rows, bool colour) {
  TextTable table(colour);
  table.add_column("policy", TextTable::Align::Left);
  for (const ResultFigure& figure : kFigures) {
    table.add_column(std::string(figure.heading), TextTable::Align::Right);
  }
  table.add_column("recovery s", TextTable::Align::Right);
  for (const simulate::ComparisonRow& row : rows) {
    std::vector<std::string> cells = {row.policy.text};
    for (const ResultFigure& figure : kFigures) {
      cells.push_back(fmt::format("{:.{}f}", row.of(figure.value).mean, figure.decimals));
    }
    const auto recovery = row.recovery_median_s();
    cells.push_back(recovery ? fmt::format("{:.0f}", *recovery) : "-");
    table.add_row(std::move(cells), row.policy.settings.policy == "carpool");
  }
  return table.render();
}

json policy_comparison_json(const PolicyComparisonFacts& facts,
                            const std::vector<simulate::ComparisonRow>& rows) {
  json out = {{"trace", facts.trace},
              {"cluster", facts.cluster},
              {"co_run", facts.interference},
              {"jobs", facts.jobs},
              {"runs", facts.runs},
              {"shuffled", facts.shuffled},
              {"rows", json::array()}};
  for (const simulate::ComparisonRow& row : rows) {
    const simulate::SimulationSettings& settings = row.policy.settings;
    json one = {{"policy", row.policy.text},
                {"preconditions", row.policy.preconditions},
                {"estimator", simulate::memory_source_name(settings.memory)},
                {"order", order_name(settings.order)},
                {"recovery", recovery_name(settings.recovery)},
                {"runtime_error", settings.runtime_error ? json(*settings.runtime_error) : json()}};
    for (const ResultFigure& figure : kFigures) {
      one[std::string(figure.key)] = spread_json(row.of(figure.value));
    }
    const auto recovery = row.recovery_median_s();
    one["recovery_wait_median_s"] = recovery ? json(*recovery) : json();
    one["failed_jobs"] = spread_json(row.of(
        [](const simulate::SimulationResult& r) { return static_cast<double>(r.failed_jobs); }));
    out["rows"].push_back(std::move(one));
  }
  return out;
}

std::string validation_table(const std::vector<simulate::ValidationRow>& rows, bool colour) {
  TextTable table(colour);
  for (const char* heading : {"policy", "estimator"}) {
    table.add_column(heading, TextTable::Align::Left);
  }
  for (const char* heading : {"makespan s",
                              "published s",
                              "diff %",
                              "mean JCT s",
                              "published s",
                              "diff %",
                              "execution s",
                              "published s",
                              "OOM",
                              "published",
                              "allowed %",
                              "met"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const simulate::ValidationRow& row : rows) {
    table.add_row({row.policy,
                   row.fitted ? fmt::format("{} (fitted)", row.estimator) : row.estimator,
                   fmt::format("{:.0f}", row.makespan_s.mean),
                   fmt::format("{:.0f}", row.published_makespan_s),
                   signed_percent(row.makespan_difference()),
                   fmt::format("{:.0f}", row.jct_s.mean),
                   fmt::format("{:.0f}", row.published_jct_s),
                   signed_percent(row.jct_difference()),
                   fmt::format("{:.0f}", row.execution_s.mean),
                   fmt::format("{:.0f}", row.published_execution_s),
                   fmt::format("{:.1f}", row.out_of_memory.mean),
                   fmt::format("{:.0f}", row.published_out_of_memory),
                   fmt::format("{:.0f}", 100.0 * row.allowed),
                   row.met() ? "yes" : "NO"});
  }
  return table.render();
}

json validation_json(const std::vector<simulate::ValidationRow>& rows, std::size_t seeds) {
  json out = {
      {"against", "AEGIS, philly60 on 3xA100-40"}, {"runs", seeds}, {"rows", json::array()}};
  for (const simulate::ValidationRow& row : rows) {
    out["rows"].push_back({{"policy", row.policy},
                           {"estimator", row.estimator},
                           {"fitted_on", row.fitted},
                           {"allowed_difference", row.allowed},
                           {"met", row.met()},
                           {"makespan_s", spread_json(row.makespan_s)},
                           {"published_makespan_s", row.published_makespan_s},
                           {"makespan_difference", row.makespan_difference()},
                           {"mean_jct_s", spread_json(row.jct_s)},
                           {"published_mean_jct_s", row.published_jct_s},
                           {"mean_jct_difference", row.jct_difference()},
                           {"mean_execution_s", spread_json(row.execution_s)},
                           {"published_mean_execution_s", row.published_execution_s},
                           {"out_of_memory", spread_json(row.out_of_memory)},
                           {"published_out_of_memory", row.published_out_of_memory},
                           {"energy_mj", spread_json(row.energy_mj)},
                           {"published_energy_mj",
                            row.published_energy_mj ? json(*row.published_energy_mj) : json()}});
  }
  return out;
}

}  // namespace carpool::app
