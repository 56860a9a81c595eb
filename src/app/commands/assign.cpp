#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/assignment.hpp"
#include "base/clock.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

std::string_view method_name(assign::AssignMethod method) {
  for (const assign::AssignMethodInfo& info : assign::assign_methods()) {
    if (info.method == method) {
      return info.name;
    }
  }
  return "auto";
}

Result<assign::AssignmentRequest> to_request(const AssignOptions& options,
                                             const ModelSession& bench) {
  assign::AssignmentRequest request;
  if (options.workloads.empty()) {
    request.workloads = bench.trained_workloads();
  } else {
    auto found = find_workloads(bench.dataset, options.workloads);
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
  request.memory_gib = bench.memory_gib;
  request.objective = bench.objective;
  return request;
}

json to_json(const assign::Assignment& assignment,
             const assign::AssignmentRequest& request,
             const ModelSession& bench,
             double seconds) {
  json out = {{"objective", predict::objective_name(bench.objective.kind)},
              {"throughput_unit", bench.dataset.info.throughput_unit},
              {"workloads", request.workloads.size()},
              {"gpus", request.gpus},
              {"total", assignment.total},
              {"method", method_name(assignment.method)},
              {"optimal", assignment.optimal},
              {"seconds", seconds},
              {"groups", json::array()},
              {"left_over", json::array()}};
  for (const assign::AssignedGroup& group : assignment.groups) {
    json entry = {{"members", bench.names(group.group)},
                  {"value", group.score.value},
                  {"throughput", json::array()},
                  {"progress", json::array()}};
    const auto alone = bench.predictor->solo_speeds(group.group);
    for (std::size_t i = 0; i < group.forecast.members.size(); ++i) {
      const double throughput = group.forecast.members[i].throughput;
      entry["throughput"].push_back(throughput);
      entry["progress"].push_back(throughput / alone[i]);
    }
    out["groups"].push_back(std::move(entry));
  }
  for (const assign::LeftOver& left : assignment.left_over) {
    out["left_over"].push_back(
        {{"workload", bench.dataset.profiles[request.workloads[left.workload]].workload},
         {"reason", left.reason}});
  }
  return out;
}

void print_assignment(const assign::Assignment& assignment,
                      const assign::AssignmentRequest& request,
                      const ModelSession& bench,
                      const Output& output) {
  TextTable table(output.colour());
  table.add_column("GPU", TextTable::Align::Right);
  table.add_column("members (share of own speed [%])", TextTable::Align::Left);
  table.add_column(std::string(predict::objective_name(bench.objective.kind)),
                   TextTable::Align::Right);
  for (std::size_t gpu = 0; gpu < assignment.groups.size(); ++gpu) {
    const assign::AssignedGroup& group = assignment.groups[gpu];
    auto names = bench.names(group.group);
    const auto alone = bench.predictor->solo_speeds(group.group);
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
                             bench.dataset.profiles[request.workloads[left.workload]].workload,
                             left.reason));
  }
  output.print(fmt::format("\n{} workloads on {} GPUs, {}: {} by {}{}\n",
                           request.workloads.size() - assignment.left_over.size(),
                           assignment.groups.size(),
                           predict::objective_name(bench.objective.kind),
                           number(assignment.total),
                           method_name(assignment.method),
                           assignment.optimal ? ", proven best for these predictions" : ""));
}

}  // namespace

Result<void> run_assign(const AssignOptions& options, const CommandContext& context) {
  const auto opened =
      open_workbench(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& bench = **opened;
  const auto request = to_request(options, bench);
  if (!request) {
    return tl::unexpected(request.error());
  }
  const Stopwatch watch;
  const auto assignment = assign::assign(*bench.predictor, *request);
  if (!assignment) {
    return tl::unexpected(assignment.error());
  }
  if (context.output.json()) {
    context.output.print_json(to_json(*assignment, *request, bench, watch.seconds()));
    return {};
  }
  print_assignment(*assignment, *request, bench, context.output);
  return {};
}

}  // namespace carpool::app
