#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/commands/evaluate/evaluate_options.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/evaluation_output.hpp"
#include "base/progress/progress.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"
#include "evaluate/seeds.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

void add_protocol_options(OptionSet& options, EvaluateOptions& evaluate) {
  options.option("--protocol",
                 &evaluate.protocol,
                 "NAME",
                 "pairs-n-occur (default), unseen, triples-ratio, random, leave-one-out, transfer, "
                 "larger-groups, mps-split");
  options.option("--table", &evaluate.table, "NAME", "Group table to evaluate on (default: pairs)");
  options.option(
      "--train-table",
      &evaluate.train_table,
      "NAME",
      "Group table to train on, for the protocols transfer and larger-groups, which takes "
      "several: pairs,quads (default: pairs)");
  options.option("--test-data",
                 &evaluate.test_data,
                 "DIR",
                 "Folder of the groups to predict, for the protocol larger-groups (default: that "
                 "of --data)");
  options.flag("--unseen-members",
               evaluate.unseen_members,
               "Predict each group by a model trained without its members, for the protocol "
               "larger-groups");
  options.option(
      "--n-occur", &evaluate.n_occur, "N", "Number of training occurrences of each workload");
  options.option("--train-fraction",
                 &evaluate.train_fraction,
                 "F",
                 "Share of the rows to train on, for the protocols random and triples-ratio");
  options.option("--seeds",
                 &evaluate.seeds,
                 "SEEDS",
                 "Seeds of the train/test splits: 1000-1049, 10,20,30 or a count (default: the "
                 "published ones)");
  options.option("--splits", &evaluate.splits_file, "FILE", "File of train/test splits to use");
  options.option(
      "--targets",
      &evaluate.targets,
      "W,W",
      "Workloads to score, names or patterns (default: those of the protocol; all: every "
      "one)",
      {.commas = true});
}

void add_evaluate_options(OptionSet& options, EvaluateOptions& evaluate) {
  add_data(options, evaluate.data);
  add_protocol_options(options, evaluate);
  options.option("--models",
                 &evaluate.models,
                 "A,B",
                 "Models and rules to evaluate (default: all but the slow ones; all: every one)",
                 {.commas = true});
  options.option(
      "--objective", &evaluate.objective, "NAME", "throughput (default), normalized or max-min");
  options.option("--floor",
                 &evaluate.floor,
                 "F",
                 "Floor whose violations are counted (default: 0.7)",
                 {.check = share_of_one()});
  options.option("--features",
                 &evaluate.features,
                 "SET",
                 "Metrics to use: default, kernel, system, none, default+xu");
  options.option("--seed",
                 &evaluate.seed,
                 "N",
                 "Seed of models that draw random numbers (default: 0)",
                 {.check = whole_number()});
  options.option("--time-budget",
                 &evaluate.time_budget_s,
                 "SECONDS",
                 "Time that kace-automl may search (default: 60)",
                 {.check = above_zero()});
  options.flag("--per-target", evaluate.per_target, "Show the choice and score of each target");
  options.flag("--ablation", evaluate.ablation, "Compare sets of metrics instead of models");
}

// Sets of metrics that the ablation compares, and their names in its table.
constexpr std::array<std::pair<const char*, const char*>, 5> kAblation = {
    {{"default", "all metrics"},
     {"kernel", "kernel metrics only"},
     {"system", "system metrics only"},
     {"none", "no metric"},
     {"default+xu", "all, and Xu's added"}}};

// An option that the protocol does not use is an error.
Result<void> check_options(const EvaluateOptions& options, const std::string& protocol) {
  struct Use {
    const char* option;
    bool given;
    std::vector<std::string_view> protocols;
  };
  const std::array uses = {
      Use{"--n-occur", options.n_occur.has_value(), {"pairs-n-occur", "file"}},
      Use{"--train-fraction",
          options.train_fraction.has_value(),
          {"random", "triples-ratio", "file"}},
      Use{"--seeds", !options.seeds.empty(), {"pairs-n-occur", "random", "mps-split"}},
      Use{"--train-table", options.train_table.has_value(), {"transfer", "larger-groups"}},
      Use{"--test-data", options.test_data.has_value(), {"larger-groups"}},
      Use{"--unseen-members", options.unseen_members, {"larger-groups"}},
      Use{"--splits", !options.splits_file.empty(), {"file"}}};
  for (const Use& use : uses) {
    const auto& known = use.protocols;
    if (use.given && std::find(known.begin(), known.end(), protocol) == known.end()) {
      return invalid_input(fmt::format("protocol {1} does not use {0}, which is for {2}",
                                       use.option,
                                       protocol,
                                       fmt::join(known, ", ")));
    }
  }
  if (options.objective == "weighted") {
    return invalid_input(
        "--objective weighted needs weights, which evaluate does not take; use throughput, "
        "normalized or max-min");
  }
  const bool for_rows = !options.table.empty() || !options.targets.empty() || options.per_target ||
                        options.ablation || options.objective;
  if (protocol == "mps-split" && for_rows) {
    return invalid_input(
        "protocol mps-split does not use --table, --targets, --objective, --per-target and "
        "--ablation");
  }
  if (protocol == "larger-groups" &&
      (!options.targets.empty() || options.objective || options.per_target || options.ablation)) {
    return invalid_input(
        "protocol larger-groups does not use --targets, --objective, --per-target and --ablation");
  }
  return {};
}

std::string chosen_protocol(const EvaluateOptions& options) {
  if (!options.protocol.empty()) {
    return options.protocol;
  }
  return options.splits_file.empty() ? evaluate::PlanRequest().protocol : "file";
}

Result<evaluate::PlanRequest> to_request(const EvaluateOptions& options) {
  evaluate::PlanRequest request;
  request.protocol = chosen_protocol(options);
  if (request.protocol == "file" && options.splits_file.empty()) {
    return invalid_input("protocol file needs --splits FILE");
  }
  if (!options.table.empty()) {
    request.table = options.table;
  } else if (request.protocol == "triples-ratio" || request.protocol == "transfer") {
    request.table = "triples";
  }
  request.train_table = options.train_table.value_or(request.train_table);
  request.n_occur = options.n_occur;
  request.train_fraction = options.train_fraction;
  request.splits_file = options.splits_file;
  request.targets = options.targets;
  if (!options.seeds.empty()) {
    auto seeds = evaluate::parse_seeds(options.seeds);
    if (!seeds) {
      return tl::unexpected(seeds.error());
    }
    request.seeds = std::move(*seeds);
  }
  return request;
}

bool all_requested(const EvaluateOptions& options) {
  return options.models == std::vector<std::string>{"all"};
}

evaluate::EvaluationOptions to_evaluation_options(const EvaluateOptions& options,
                                                  Progress& progress) {
  evaluate::EvaluationOptions out;
  out.objective = options.objective.value_or(out.objective);
  out.floor = options.floor;
  out.features = options.features;
  out.seed = options.seed;
  out.time_budget_s = options.time_budget_s;
  out.skip_unsupported = options.models.empty() || all_requested(options);
  out.on_progress = [&progress](const std::string& what) { progress.advance(what); };
  return out;
}

std::vector<std::string> chosen_policies(const EvaluateOptions& options) {
  if (options.models.empty()) {
    return evaluate::policy_names(/*include_slow=*/false);
  }
  if (all_requested(options)) {
    return evaluate::policy_names(/*include_slow=*/true);
  }
  return options.models;
}

// The same models with each set of metrics.
Result<std::vector<evaluate::PolicyResult>> run_ablation(const dataset::Dataset& dataset,
                                                         const evaluate::EvaluationPlan& plan,
                                                         const EvaluateOptions& options,
                                                         const Output& output) {
  const std::vector<std::string> models =
      options.models.empty() ? std::vector{std::string(model::kDefaultModel)} : options.models;
  Progress progress(
      "evaluate", kAblation.size() * models.size() * plan.trials.size(), output.progress());
  std::vector<evaluate::PolicyResult> results;
  for (const auto& [features, name] : kAblation) {
    evaluate::EvaluationOptions evaluation = to_evaluation_options(options, progress);
    evaluation.features = features;
    auto judged = evaluate::evaluate(dataset, plan, models, evaluation);
    if (!judged) {
      return judged;
    }
    for (evaluate::PolicyResult& result : *judged) {
      result.name = fmt::format("{}, {}", result.name, name);
      results.push_back(std::move(result));
    }
  }
  return results;
}

Result<void> run_evaluate(const EvaluateOptions& options, const CommandContext& context) {
  if (auto checked = check_options(options, chosen_protocol(options)); !checked) {
    return checked;
  }
  if (options.protocol == "mps-split") {
    return run_mps_split(options, context);
  }
  if (options.protocol == "larger-groups") {
    return run_larger_groups(options, context);
  }
  const auto dataset = open_dataset(options.data, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  const auto request = to_request(options);
  if (!request) {
    return tl::unexpected(request.error());
  }
  const auto plan = evaluate::make_plan(*dataset, *request);
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  Result<std::vector<evaluate::PolicyResult>> results;
  if (options.ablation) {
    results = run_ablation(*dataset, *plan, options, context.output);
  } else {
    const std::vector<std::string> policies = chosen_policies(options);
    Progress progress("evaluate", policies.size() * plan->trials.size(), context.output.progress());
    results =
        evaluate::evaluate(*dataset, *plan, policies, to_evaluation_options(options, progress));
  }
  if (!results) {
    return tl::unexpected(results.error());
  }
  const EvaluationListing listing{.dataset = *dataset, .plan = *plan, .results = *results};
  if (context.output.json()) {
    context.output.print_json(evaluation_to_json(listing, options.per_target));
    return {};
  }
  print_evaluation(listing, context.output);
  if (options.per_target) {
    print_targets(listing, context.output);
  }
  return {};
}

}  // namespace

CommandSpec evaluate_command() {
  return make_command(
      add_evaluate_options,
      run_evaluate,
      {"carpool evaluate --n-occur 3",
       "carpool evaluate --n-occur 3 --seeds 1000-1049 --models share,kace-lr",
       "carpool evaluate --protocol unseen --table quads --json",
       "carpool evaluate --protocol transfer --train-table pairs --table triples --models share",
       "carpool evaluate --data data/h200 --protocol larger-groups --test-data data/h200-groups",
       "carpool evaluate --protocol mps-split",
       "carpool evaluate --data my-gpu --protocol random --train-fraction 0.5 --seeds 20"});
}

}  // namespace carpool::app
