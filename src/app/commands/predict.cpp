#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/group_memory.hpp"
#include "predict/partition_choice.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct PredictOptions {
  ModelOptions model;
  GoalOptions goal;
  std::vector<std::string> workloads;
  std::vector<double> limits;  // MPS thread limit of each workload; empty: 100 for all
};

void add_predict_options(OptionSet& options, PredictOptions& predict) {
  options.positional("workloads",
                     &predict.workloads,
                     "W",
                     "Workloads that would share one GPU",
                     {.required = true});
  add_model(options, predict.model);
  options.option("--limits",
                 &predict.limits,
                 "P,P",
                 "MPS thread limit of each workload in % (default: 100 for all)",
                 {.commas = true});
  add_goal(options, predict.goal);
}

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
                           const ModelSession& session,
                           const Group& group) {
  if (!options.limits.empty() && !session.predictor->predicts_members()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} does not model thread limits: leave --limits out, or use share",
                            session.model->card().kind));
  }
  // Under such a model the choice of thread limits, and with it the goal, is left out.
  if (options.goal.objective || options.goal.floor) {
    if (auto checked =
            predict::check_objective(session.objective, session.predictor->predicts_members());
        !checked) {
      return checked;
    }
  }
  if (options.goal.weights.size() > group.size()) {
    return invalid_input(fmt::format(
        "--weights has {} values for {} workloads", options.goal.weights.size(), group.size()));
  }
  return {};
}

// A recorded solo speed that differs by this factor from what the measured groups imply comes from
// another version of the job or another machine.
constexpr double kStale = 1.5;

void remark_stale_recordings(const Prediction& prediction,
                             const ModelSession& session,
                             const Output& output) {
  for (const MemberPrediction& member : prediction.members) {
    const double recorded = session.dataset.profiles[member.profile].exclusive_throughput;
    if (member.alone > kStale * recorded || recorded > kStale * member.alone) {
      output.remark(
          fmt::format("{}: the recorded solo speed, {} {}, does not agree with the measured groups",
                      member.workload,
                      number(recorded),
                      session.dataset.info.throughput_unit));
    }
  }
}

// Whether the dataset holds measurements under thread limits.
bool limits_measured(const dataset::Dataset& dataset) {
  const auto alone = dataset::load_limited_runs(dataset);
  const auto tables = dataset::list_group_tables(dataset);
  return (alone && !alone->empty()) ||
         std::find(tables.begin(), tables.end(), "partitions") != tables.end();
}

assign::MemoryUse memory_of(const ModelSession& session, const Group& group) {
  std::vector<std::size_t> members;
  for (const GroupMember& member : group) {
    members.push_back(member.profile);
  }
  return assign::memory_use(session.dataset.profiles, members);
}

json memory_to_json(const ModelSession& session, const assign::MemoryUse& use) {
  return {{"known_gib", use.known_gib},
          {"capacity_gib", session.memory_gib ? json(*session.memory_gib) : json(nullptr)},
          {"fits", use.fits(session.memory_gib)}};
}

json limits_to_json(const predict::PartitionChoice& choice, const predict::Objective& objective) {
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

void print_limits(const predict::PartitionChoice& choice,
                  const predict::Objective& objective,
                  const Output& output) {
  std::vector<double> limits;
  for (const GroupMember& member : choice.group) {
    limits.push_back(member.thread_limit);
  }
  output.print(fmt::format(
      "\nbest thread limits for {}: {} ({:+.1f} % against 100 each, {:+.1f} % against equal "
      "limits){}\n",
      predict::objective_name(objective.kind),
      fmt::join(limits, " / "),
      choice.gain_over_unlimited() * 100.0,
      choice.gain_over_equal() * 100.0,
      choice.score.feasible ? "" : "; no limits keep the floor, these come nearest"));
}

Result<void> run_predict(const PredictOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto opened =
      open_session(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& session = **opened;
  const auto group = to_group(options, session.dataset);
  if (!group) {
    return tl::unexpected(group.error());
  }
  if (auto checked = check_request(options, session, *group); !checked) {
    return checked;
  }
  const auto prediction = session.predictor->predict(*group);
  if (!prediction) {
    return tl::unexpected(prediction.error());
  }
  // Thread limits concern groups of several members, under a model that predicts each of them.
  std::optional<predict::PartitionChoice> partition;
  if (session.predictor->predicts_members() && group->size() > 1) {
    auto chosen = predict::choose_partition(
        *session.predictor, *group, session.objective, predict::usual_partitions(group->size()));
    if (!chosen) {
      return tl::unexpected(chosen.error());
    }
    partition = std::move(*chosen);
  }
  const std::string& unit = session.dataset.info.throughput_unit;
  const assign::MemoryUse memory = memory_of(session, *group);
  if (output.json()) {
    json out = prediction_to_json(*prediction);
    out["model"] = session.model->card().kind;
    out["throughput_unit"] = unit;
    out["memory"] = memory_to_json(session, memory);
    out["best_split"] = partition ? limits_to_json(*partition, session.objective) : json(nullptr);
    output.print_json(out);
    return {};
  }
  print_prediction(*prediction, unit, output);
  if (session.memory_gib) {
    output.print(
        fmt::format("{}{}\n",
                    assign::describe_memory(session.dataset.profiles, memory, *session.memory_gib),
                    memory.fits(session.memory_gib) ? "" : ": does not fit"));
  }
  remark_stale_recordings(*prediction, session, output);
  if (partition) {
    print_limits(*partition, session.objective, output);
    if (!options.model.model_file && !limits_measured(session.dataset)) {
      output.remark(
          "the dataset has no measurement under thread limits: these rest on the behaviour of a "
          "V100");
    }
  }
  return {};
}

}  // namespace

CommandSpec predict_command() {
  return make_command(
      add_predict_options,
      run_predict,
      {"carpool predict bert-base-cased_batch8-inf albert-base-v2_batch8-train",
       "carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --limits 30,70",
       "carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --objective max-min"});
}

}  // namespace carpool::app
