#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/group_memory.hpp"
#include "predict/partition_choice.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

Result<Group> to_group(const PredictOptions& options, const dataset::Dataset& dataset) {
  const auto members = find_workloads(dataset, options.workloads);
  if (!members) {
    return tl::unexpected(members.error());
  }
  if (!options.limits.empty() && options.limits.size() != members->size()) {
    return invalid_input(fmt::format(
        "--limits has {} values for {} workloads", options.limits.size(), members->size()));
  }
  Group group;
  for (std::size_t i = 0; i < members->size(); ++i) {
    group.push_back({.profile = (*members)[i],
                     .thread_limit = options.limits.empty() ? kAllThreads : options.limits[i]});
  }
  return group;
}

Result<void> check_request(const PredictOptions& options,
                           const ModelSession& bench,
                           const Group& group) {
  if (!options.limits.empty() && !bench.predictor->predicts_members()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} knows nothing of thread limits: leave --limits out, or use share",
                            bench.model->card().kind));
  }
  if (options.goal.weights.size() > group.size()) {
    return invalid_input(fmt::format(
        "--weights has {} values for {} workloads", options.goal.weights.size(), group.size()));
  }
  return {};
}

// A recording that differs this much from what the groups say was made with another version of the
// job, or on another machine.
constexpr double kStale = 1.5;

void remark_stale_recordings(const Prediction& prediction,
                             const ModelSession& bench,
                             const Output& output) {
  for (const MemberPrediction& member : prediction.members) {
    const double recorded = bench.dataset.profiles[member.profile].exclusive_throughput;
    if (member.alone > kStale * recorded || recorded > kStale * member.alone) {
      output.remark(
          fmt::format("{}: {} {} are recorded alone, which does not agree with its measured groups",
                      member.workload,
                      number(recorded),
                      bench.dataset.info.throughput_unit));
    }
  }
}

// Whether the dataset says anything of thread limits.
bool limits_measured(const dataset::Dataset& dataset) {
  const auto alone = dataset::load_limited_runs(dataset);
  const auto tables = dataset::list_group_tables(dataset);
  return (alone && !alone->empty()) ||
         std::find(tables.begin(), tables.end(), "partitions") != tables.end();
}

assign::MemoryUse memory_of(const ModelSession& bench, const Group& group) {
  std::vector<std::size_t> members;
  for (const GroupMember& member : group) {
    members.push_back(member.profile);
  }
  return assign::memory_use(bench.dataset.profiles, members);
}

json memory_to_json(const ModelSession& bench, const assign::MemoryUse& use) {
  return {{"known_gib", use.known_gib},
          {"capacity_gib", bench.memory_gib ? json(*bench.memory_gib) : json(nullptr)},
          {"fits", use.fits(bench.memory_gib)}};
}

json split_to_json(const predict::PartitionChoice& choice, const predict::Objective& objective) {
  json limits = json::array();
  for (const GroupMember& member : choice.group) {
    limits.push_back(member.thread_limit);
  }
  return {{"objective", predict::objective_name(objective.kind)},
          {"limits", limits},
          {"value", choice.score.value},
          {"feasible", choice.score.feasible},
          {"gain_over_100", choice.gain_over_unlimited()},
          {"gain_over_equal", choice.gain_over_equal()}};
}

void print_split(const predict::PartitionChoice& choice,
                 const predict::Objective& objective,
                 const Output& output) {
  std::vector<double> limits;
  for (const GroupMember& member : choice.group) {
    limits.push_back(member.thread_limit);
  }
  output.print(fmt::format(
      "\nbest thread limits for {}: {} ({:+.1f} % against 100 each, {:+.1f} % against an equal "
      "split){}\n",
      predict::objective_name(objective.kind),
      fmt::join(limits, " / "),
      choice.gain_over_unlimited() * 100.0,
      choice.gain_over_equal() * 100.0,
      choice.score.feasible ? "" : "; no split keeps the floor, this one comes nearest"));
}

}  // namespace

Result<void> run_predict(const PredictOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto opened =
      open_workbench(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& bench = **opened;
  const auto group = to_group(options, bench.dataset);
  if (!group) {
    return tl::unexpected(group.error());
  }
  if (auto checked = check_request(options, bench, *group); !checked) {
    return checked;
  }
  const auto prediction = bench.predictor->predict(*group);
  if (!prediction) {
    return tl::unexpected(prediction.error());
  }
  // Thread limits are a question for models that know members, and for more than one of them.
  std::optional<predict::PartitionChoice> split;
  if (bench.predictor->predicts_members() && group->size() > 1) {
    auto chosen = predict::choose_partition(
        *bench.predictor, *group, bench.objective, predict::usual_partitions(group->size()));
    if (!chosen) {
      return tl::unexpected(chosen.error());
    }
    split = std::move(*chosen);
  }
  const std::string& unit = bench.dataset.info.throughput_unit;
  const assign::MemoryUse memory = memory_of(bench, *group);
  if (output.json()) {
    json out = prediction_to_json(*prediction);
    out["model"] = bench.model->card().kind;
    out["throughput_unit"] = unit;
    out["memory"] = memory_to_json(bench, memory);
    out["best_split"] = split ? split_to_json(*split, bench.objective) : json(nullptr);
    output.print_json(out);
    return {};
  }
  print_prediction(*prediction, unit, output);
  if (bench.memory_gib) {
    output.print(
        fmt::format("{}{}\n",
                    assign::describe_memory(bench.dataset.profiles, memory, *bench.memory_gib),
                    memory.fits(bench.memory_gib) ? "" : ": does not fit"));
  }
  remark_stale_recordings(*prediction, bench, output);
  if (split) {
    print_split(*split, bench.objective, output);
    if (!options.model.model_file && !limits_measured(bench.dataset)) {
      output.remark(
          "nothing was measured under thread limits here: this rests on a V100's behaviour");
    }
  }
  return {};
}

}  // namespace carpool::app
