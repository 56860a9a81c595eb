#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/evaluation_output.hpp"
#include "base/progress/progress.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"
#include "evaluate/seeds.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

// The sets of metrics that the ablation compares, with what people call them.
constexpr std::array<std::pair<const char*, const char*>, 5> kAblation = {
    {{"default", "all metrics"},
     {"kernel", "kernel metrics only"},
     {"system", "system metrics only"},
     {"none", "no metric"},
     {"default+xu", "all, and Xu's added"}}};

// An option that the protocol does not look at is a misunderstanding, not a wish to be ignored.
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
      Use{"--splits", !options.splits_file.empty(), {"file"}}};
  for (const Use& use : uses) {
    const auto& known = use.protocols;
    if (use.given && std::find(known.begin(), known.end(), protocol) == known.end()) {
      return invalid_input(fmt::format("{} means nothing to protocol {}; it is for {}",
                                       use.option,
                                       protocol,
                                       fmt::join(known, ", ")));
    }
  }
  const bool rows_alone =
      !options.table.empty() || !options.targets.empty() || options.per_target || options.ablation;
  if (protocol == "mps-split" && rows_alone) {
    return invalid_input(
        "--table, --targets, --per-target and --ablation mean nothing to protocol mps-split");
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
  request.train_table = options.train_table;
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

bool all_asked(const EvaluateOptions& options) {
  return options.models == std::vector<std::string>{"all"};
}

evaluate::EvaluationOptions to_evaluation_options(const EvaluateOptions& options,
                                                  Progress& progress) {
  evaluate::EvaluationOptions out;
  out.objective = options.objective;
  out.floor = options.floor;
  out.features = options.features;
  out.seed = options.seed;
  out.time_budget_s = options.time_budget_s;
  out.skip_unsupported = options.models.empty() || all_asked(options);
  out.on_progress = [&progress](const std::string& what) { progress.advance(what); };
  return out;
}

std::vector<std::string> chosen_policies(const EvaluateOptions& options) {
  if (options.models.empty()) {
    return evaluate::policy_names(/*include_slow=*/false);
  }
  if (all_asked(options)) {
    return evaluate::policy_names(/*include_slow=*/true);
  }
  return options.models;
}

// The same model with one set of metrics after the other.
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

}  // namespace

Result<void> run_evaluate(const EvaluateOptions& options, const CommandContext& context) {
  if (auto checked = check_options(options, chosen_protocol(options)); !checked) {
    return checked;
  }
  if (options.protocol == "mps-split") {
    return run_evaluate_splits(options, context);
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

}  // namespace carpool::app
