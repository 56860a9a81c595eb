#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/commands/evaluate/evaluate_options.hpp"
#include "app/inputs/sources.hpp"
#include "base/progress/progress.hpp"
#include "evaluate/partition_regret.hpp"
#include "evaluate/seeds.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

json to_json(const evaluate::PartitionReport& report, const dataset::Dataset& dataset) {
  json out = {{"protocol", "mps-split"},
              {"data", dataset.folder.string()},
              {"groups", report.groups},
              {"models_trained", report.trials},
              {"results", json::array()},
              {"accuracy", json::array()}};
  for (const evaluate::PartitionResult& result : report.results) {
    out["results"].push_back({{"name", result.policy},
                              {"objective", result.objective},
                              {"campaign", result.campaign},
                              {"choices", result.choices},
                              {"regret_median", result.regret_median},
                              {"regret_mean", result.regret_mean},
                              {"regret_p90", result.regret_p90},
                              {"floor_missed", or_null(result.floor_missed)}});
  }
  for (const evaluate::PartitionAccuracy& accuracy : report.accuracy) {
    out["accuracy"].push_back({{"campaign", accuracy.campaign},
                               {"mape_limited", or_null(accuracy.mape_limited)},
                               {"mape_unlimited", or_null(accuracy.mape_unlimited)}});
  }
  return out;
}

void print_regrets(const evaluate::PartitionReport& report, const Output& output) {
  output.heading(
      fmt::format("mps-split: {} groups measured under several thread limits, {} models trained",
                  report.groups,
                  report.trials));
  TextTable table(output.colour());
  table.add_column("objective", TextTable::Align::Left);
  table.add_column("policy", TextTable::Align::Left);
  for (const char* heading :
       {"choices", "median regret [%]", "mean [%]", "90th percentile [%]", "floor missed [%]"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const evaluate::PartitionResult& result : report.results) {
    if (result.campaign.empty()) {
      table.add_row({result.objective,
                     result.policy,
                     std::to_string(result.choices),
                     percent(result.regret_median, 2),
                     percent(result.regret_mean, 2),
                     percent(result.regret_p90, 2),
                     percent(result.floor_missed)},
                    result.policy == "model");
    }
  }
  output.print(table.render() + "\n");
  for (const evaluate::PartitionAccuracy& accuracy : report.accuracy) {
    if (accuracy.campaign.empty()) {
      output.print(fmt::format(
          "mean error of the speed of a member: {} % under thread limits, {} % at 100 each\n",
          percent(accuracy.mape_limited),
          percent(accuracy.mape_unlimited)));
    }
  }
}

}  // namespace

Result<void> run_mps_split(const EvaluateOptions& options, const CommandContext& context) {
  if (options.models.size() > 1) {
    return invalid_input("protocol mps-split evaluates one model at a time");
  }
  const auto dataset = open_dataset(options.data, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  const auto kind = model::find_model_kind(options.models.empty() ? model::kDefaultModel
                                                                  : options.models.front());
  if (!kind) {
    return tl::unexpected(kind.error());
  }
  const auto measurements = evaluate::load_partition_measurements(*dataset);
  if (!measurements) {
    return tl::unexpected(measurements.error());
  }
  evaluate::PartitionProtocol protocol;
  if (!options.seeds.empty()) {
    auto seeds = evaluate::parse_seeds(options.seeds);
    if (!seeds) {
      return tl::unexpected(seeds.error());
    }
    protocol.seeds = std::move(*seeds);
  }
  Progress progress("evaluate", protocol.seeds.size() * protocol.folds, context.output.progress());
  protocol.on_progress = [&](const std::string& what) { progress.advance(what); };
  const auto report = evaluate::judge_partitions(*dataset, *measurements, protocol, (*kind)->train);
  if (!report) {
    return tl::unexpected(report.error());
  }
  if (context.output.json()) {
    context.output.print_json(to_json(*report, *dataset));
  } else {
    print_regrets(*report, context.output);
  }
  return {};
}

}  // namespace carpool::app
