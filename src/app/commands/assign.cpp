#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/assignment.hpp"
#include "base/clock.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct AssignOptions {
  ModelOptions model;
  GoalOptions goal;
  std::vector<std::string> workloads;  // empty: every workload of the table
  std::optional<std::size_t> gpus;     // absent: as few as possible
  std::size_t per_gpu = 2;
  std::string method = "auto";
};

void add_assign_options(OptionSet& options, AssignOptions& assign) {
  options.positional("workloads",
                     &assign.workloads,
                     "W",
                     "Workloads to place; one that is named twice runs twice (default: all of the "
                     "table)");
  add_model(options, assign.model);
  add_goal(options, assign.goal);
  options.option("--gpus",
                 &assign.gpus,
                 "G",
                 "Number of GPUs (default: as few as possible)",
                 {.check = whole_number()});
  options.option("--per-gpu",
                 &assign.per_gpu,
                 "K",
                 "Most workloads on one GPU (default: 2)",
                 {.check = whole_number()});
  options.option(
      "--method", &assign.method, "NAME", "auto, exact, matching or local-search (default: auto)");
}

std::string_view method_name(assign::AssignMethod method) {
  for (const assign::AssignMethodInfo& info : assign::assign_methods()) {
    if (info.method == method) {
      return info.name;
    }
  }
  return "auto";
}

Result<assign::AssignmentRequest> to_request(const AssignOptions& options,
                                             const ModelSession& session) {
  assign::AssignmentRequest request;
  if (options.workloads.empty()) {
    request.workloads = session.trained_workloads();
  } else {
    auto found = find_workloads(session.dataset, options.workloads);
    if (!found) {
      return tl::unexpected(found.error());
    }
    request.workloads = std::move(*found);
  }
  const auto method = assign::find_assign_method(options.method);
  if (!method) {
    return tl::unexpected(method.error());
  }
  if (options.per_gpu < 1) {
    return invalid_input("--per-gpu must be at least 1");
  }
  request.method = *method;
  request.max_per_gpu = options.per_gpu;
  request.gpus =
      options.gpus.value_or((request.workloads.size() + options.per_gpu - 1) / options.per_gpu);
  request.memory_gib = session.memory_gib;
  request.objective = session.objective;
  return request;
}

json to_json(const assign::Assignment& assignment,
             const assign::AssignmentRequest& request,
             const ModelSession& session,
             double seconds) {
  json out = {{"objective", predict::objective_name(session.objective.kind)},
              {"throughput_unit", session.dataset.info.throughput_unit},
              {"workloads", request.workloads.size()},
              {"gpus", request.gpus},
              {"total", assignment.total},
              {"method", method_name(assignment.method)},
              {"optimal", assignment.optimal},
              {"seconds", seconds},
              {"groups", json::array()},
              {"left_over", json::array()}};
  for (const assign::AssignedGroup& group : assignment.groups) {
    json entry = {{"members", session.names(group.group)},
                  {"value", group.score.value},
                  {"throughput", json::array()},
                  {"progress", json::array()}};
    const auto alone = session.predictor->solo_speeds(group.group);
    for (std::size_t i = 0; i < group.forecast.members.size(); ++i) {
      const double throughput = group.forecast.members[i].throughput;
      entry["throughput"].push_back(throughput);
      entry["progress"].push_back(throughput / alone[i]);
    }
    out["groups"].push_back(std::move(entry));
  }
  for (const assign::LeftOver& left : assignment.left_over) {
    out["left_over"].push_back(
        {{"workload", session.dataset.profiles[request.workloads[left.workload]].workload},
         {"reason", left.reason}});
  }
  return out;
}

void print_assignment(const assign::Assignment& assignment,
                      const assign::AssignmentRequest& request,
                      const ModelSession& session,
                      const Output& output) {
  TextTable table(output.colour());
  table.add_column("GPU", TextTable::Align::Right);
  table.add_column("members (share of solo speed [%])", TextTable::Align::Left);
  table.add_column(std::string(predict::objective_name(session.objective.kind)),
                   TextTable::Align::Right);
  for (std::size_t gpu = 0; gpu < assignment.groups.size(); ++gpu) {
    const assign::AssignedGroup& group = assignment.groups[gpu];
    auto names = session.names(group.group);
    const auto alone = session.predictor->solo_speeds(group.group);
    for (std::size_t i = 0; i < group.forecast.members.size(); ++i) {
      names[i] += fmt::format(" ({})", percent(group.forecast.members[i].throughput / alone[i], 0));
    }
    table.add_row({std::to_string(gpu),
                   fmt::format("{}", fmt::join(names, " + ")),
                   number(group.score.value)});
  }
  output.print(table.render());
  for (const assign::LeftOver& left : assignment.left_over) {
    output.print(fmt::format("left over: {}: {}\n",
                             session.dataset.profiles[request.workloads[left.workload]].workload,
                             left.reason));
  }
  output.print(fmt::format("\n{} workloads on {} GPUs, {}: {} by {}{}\n",
                           request.workloads.size() - assignment.left_over.size(),
                           assignment.groups.size(),
                           predict::objective_name(session.objective.kind),
                           number(assignment.total),
                           method_name(assignment.method),
                           assignment.optimal ? ", proven best for these predictions" : ""));
}

Result<void> run_assign(const AssignOptions& options, const CommandContext& context) {
  const auto opened =
      open_session(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& session = **opened;
  const auto request = to_request(options, session);
  if (!request) {
    return tl::unexpected(request.error());
  }
  const Stopwatch watch;
  const auto assignment = assign::assign(*session.predictor, *request);
  if (!assignment) {
    return tl::unexpected(assignment.error());
  }
  if (context.output.json()) {
    context.output.print_json(to_json(*assignment, *request, session, watch.seconds()));
    return {};
  }
  print_assignment(*assignment, *request, session, context.output);
  return {};
}

}  // namespace

CommandSpec assign_command() {
  return make_command(add_assign_options,
                      run_assign,
                      {"carpool assign --gpus 11 --memory 32",
                       "carpool assign --gpus 7 --per-gpu 3 --objective max-min",
                       "carpool assign bert-base-cased_batch2-inf vit_h_14_batch2-train "
                       "albert-base-v2_batch2-train"});
}

}  // namespace carpool::app
