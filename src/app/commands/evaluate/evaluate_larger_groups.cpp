#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/commands/evaluate/evaluate_options.hpp"
#include "app/inputs/sources.hpp"
#include "base/progress/busy_line.hpp"
#include "evaluate/larger_groups.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) {
      names.emplace_back(list.substr(0, comma));
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

json noise_to_json(const std::optional<evaluate::Noise>& noise) {
  if (!noise) {
    return nullptr;
  }
  return {{"groups", noise->groups},
          {"member_median", noise->member_median},
          {"member_mean", noise->member_mean}};
}

json larger_groups_to_json(const std::vector<evaluate::LargerGroupsResult>& results,
                           const evaluate::LargerGroupsRequest& request,
                           const dataset::Dataset& training,
                           const dataset::Dataset& tested) {
  json out = {{"protocol", "larger-groups"},
              {"data", training.folder.string()},
              {"test_data", tested.folder.string()},
              {"model", request.model},
              {"train_tables", request.train_tables},
              {"unseen_members", request.unseen_members},
              {"results", json::array()}};
  for (const evaluate::LargerGroupsResult& result : results) {
    out["results"].push_back({{"table", result.table},
                              {"group_size", result.group_size},
                              {"groups", result.groups},
                              {"members", result.members},
                              {"mape_member", or_null(result.mape_member)},
                              {"median_member", or_null(result.median_member)},
                              {"bias_member", or_null(result.bias_member)},
                              {"mape_progress", or_null(result.mape_progress)},
                              {"coverage90", or_null(result.coverage90)},
                              {"width90", or_null(result.width90)},
                              {"coverage90_sum", or_null(result.coverage90_sum)},
                              {"noise", noise_to_json(result.noise)}});
  }
  return out;
}

void print_larger_groups(const std::vector<evaluate::LargerGroupsResult>& results,
                         const evaluate::LargerGroupsRequest& request,
                         const dataset::Dataset& training,
                         const dataset::Dataset& tested,
                         const Output& output) {
  output.heading(fmt::format(
      "larger-groups: {} trained on {} of {}, tested on groups of {}{}",
      request.model,
      fmt::join(request.train_tables, ", "),
      training.folder.string(),
      tested.folder.string(),
      request.unseen_members ? "; each group by a model trained without its members" : ""));
  TextTable table(output.colour());
  table.add_column("table", TextTable::Align::Left);
  for (const char* heading : {"members",
                              "groups",
                              "member error [%]",
                              "median [%]",
                              "summed progress error [%]",
                              "covered [%]",
                              "interval width [%]",
                              "between runs [%]"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const evaluate::LargerGroupsResult& result : results) {
    table.add_row({result.table,
                   std::to_string(result.group_size),
                   std::to_string(result.groups),
                   percent(result.mape_member),
                   percent(result.median_member),
                   percent(result.mape_progress),
                   percent(result.coverage90),
                   percent(result.width90),
                   result.noise ? percent(result.noise->member_mean) : "–"});
  }
  output.print(table.render() + "\n");
}

}  // namespace

Result<void> run_larger_groups(const EvaluateOptions& options, const CommandContext& context) {
  if (options.models.size() > 1) {
    return invalid_input("protocol larger-groups evaluates one model at a time");
  }
  const auto training = open_dataset(options.data, context.config);
  if (!training) {
    return tl::unexpected(training.error());
  }
  const auto tested =
      options.test_data ? open_dataset(options.test_data, context.config) : training;
  if (!tested) {
    return tl::unexpected(tested.error());
  }
  evaluate::LargerGroupsRequest request{
      .model = options.models.empty() ? std::string(model::kDefaultModel) : options.models.front(),
      .train_tables = split_names(options.train_table.value_or("pairs")),
      .test_tables = split_names(options.table),
      .unseen_members = options.unseen_members,
      .features = options.features,
      .on_progress = {}};
  const auto results = [&] {
    const BusyLine busy("evaluating larger groups", context.output.progress());
    return evaluate::judge_larger_groups(*training, *tested, request);
  }();
  if (!results) {
    return tl::unexpected(results.error());
  }
  if (context.output.json()) {
    context.output.print_json(larger_groups_to_json(*results, request, *training, *tested));
  } else {
    print_larger_groups(*results, request, *training, *tested, context.output);
  }
  return {};
}

}  // namespace carpool::app
