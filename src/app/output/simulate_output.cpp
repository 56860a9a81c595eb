#include "app/output/simulate_output.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/placement_policy.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

using Figure = std::optional<double>;

struct ResultFigure {
  std::string_view heading;
  std::string_view key;
  int decimals;  // of the mean
  Figure (*value)(const simulate::SimulationResult&);
};

constexpr std::array kFigures = {
    ResultFigure{"makespan s",
                 "makespan_s",
                 0,
                 [](const simulate::SimulationResult& r) -> Figure { return r.makespan_s; }},
    ResultFigure{"mean JCT s",
                 "mean_jct_s",
                 0,
                 [](const simulate::SimulationResult& r) -> Figure { return r.mean_jct_s; }},
    ResultFigure{"p95 JCT s",
                 "p95_jct_s",
                 0,
                 [](const simulate::SimulationResult& r) -> Figure { return r.p95_jct_s; }},
    ResultFigure{"mean wait s",
                 "mean_wait_s",
                 0,
                 [](const simulate::SimulationResult& r) -> Figure { return r.mean_wait_s; }},
    ResultFigure{"execution x",
                 "execution_inflation",
                 2,
                 [](const simulate::SimulationResult& r) -> Figure { return r.inflation; }},
    ResultFigure{"failed",
                 "failed_jobs",
                 1,
                 [](const simulate::SimulationResult& r) -> Figure {
                   return static_cast<double>(r.failed_jobs);
                 }},
    ResultFigure{"OOM",
                 "out_of_memory",
                 1,
                 [](const simulate::SimulationResult& r) -> Figure {
                   return static_cast<double>(r.out_of_memory);
                 }},
    ResultFigure{"over cap",
                 "over_cap",
                 1,
                 [](const simulate::SimulationResult& r) -> Figure {
                   return static_cast<double>(r.over_cap);
                 }},
    ResultFigure{"pauses",
                 "pauses",
                 1,
                 [](const simulate::SimulationResult& r) -> Figure {
                   return static_cast<double>(r.pauses);
                 }},
    ResultFigure{"energy MJ",
                 "energy_mj",
                 2,
                 [](const simulate::SimulationResult& r) -> Figure { return r.energy_mj; }},
    ResultFigure{"SMACT",
                 "mean_sm_active",
                 3,
                 [](const simulate::SimulationResult& r) -> Figure { return r.mean_sm_active; }},
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

json spread_json(const std::optional<simulate::Spread>& spread) {
  return spread ? json{{"mean", spread->mean}, {"least", spread->least}, {"most", spread->most}}
                : json();
}

// The mean, and the range where there are several runs and room for it.
std::string figure_text(const ResultFigure& figure, const simulate::ComparisonRow& row) {
  const auto spread = row.of(figure.value);
  if (!spread) {
    return "-";
  }
  const std::string mean = fmt::format("{:.{}f}", spread->mean, figure.decimals);
  const bool with_range =
      row.runs.size() > 1 && (figure.key == "makespan_s" || figure.key == "mean_jct_s");
  return with_range ? fmt::format("{} ({:.0f}-{:.0f})", mean, spread->least, spread->most) : mean;
}

}  // namespace

std::string policy_comparison_table(const std::vector<simulate::ComparisonRow>& rows, bool colour) {
  TextTable table(colour);
  table.add_column("policy", TextTable::Align::Left);
  table.add_column("memory", TextTable::Align::Left);
  table.add_column("order", TextTable::Align::Left);
  for (const ResultFigure& figure : kFigures) {
    table.add_column(std::string(figure.heading), TextTable::Align::Right);
  }
  table.add_column("recovery s", TextTable::Align::Right);
  for (const simulate::ComparisonRow& row : rows) {
    std::vector<std::string> cells = {
        row.policy.text,
        std::string(simulate::memory_source_name(row.policy.settings.memory)),
        std::string(order_name(row.policy.settings.order))};
    for (const ResultFigure& figure : kFigures) {
      cells.push_back(figure_text(figure, row));
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
              {"truth", facts.truth},
              {"belief", facts.belief},
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
    out["rows"].push_back(std::move(one));
  }
  return out;
}

}  // namespace carpool::app
