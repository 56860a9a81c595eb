#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/evaluation_output.hpp"
#include "app/top/gpu_watch.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"

namespace carpool::app {
namespace {

// A workload for which the choice of partner matters: a trainer of medium size.
constexpr const char* kTarget = "bert-base-cased_batch8-train";

Result<void> compare(const CommandContext& context) {
  const auto dataset = open_dataset(std::nullopt, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  const auto plan = evaluate::make_plan(*dataset, {});
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  const auto results =
      evaluate::evaluate(*dataset, *plan, evaluate::policy_names(/*include_slow=*/false), {});
  if (!results) {
    return tl::unexpected(results.error());
  }
  print_evaluation({.dataset = *dataset, .plan = *plan, .results = *results}, context.output);
  return {};
}

// Where there are any; `carpool doctor` is for those who wonder why not.
Result<void> show_gpus(const CommandContext& context) {
  if (!open_gpus()) {
    return {};
  }
  context.output.print("\n");
  context.output.heading("5. What do the GPUs of this machine do?");
  return run_gpus({}, context);
}

}  // namespace

Result<void> run_demo(const DemoOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  if (output.json()) {
    return invalid_input("demo is for people; `carpool evaluate --json` has the figures");
  }
  output.heading("1. Which partner should a BERT trainer take?");
  RecommendOptions recommend;
  recommend.target = kTarget;
  recommend.top = 5;
  recommend.goal.memory_gib = 32.0;
  if (auto done = run_recommend(recommend, context); !done) {
    return done;
  }
  output.print("\n");
  output.heading("2. How fast will two run, and which MPS thread limits are fairest?");
  PredictOptions predict;
  predict.workloads = {"albert-base-v2_batch2-train", "whisper-large-v2_batch16-inf"};
  predict.goal.objective = "max-min";
  if (auto done = run_predict(predict, context); !done) {
    return done;
  }
  output.print("\n");
  output.heading("3. How far is that from the best possible choice? (score: % of the oracle)");
  if (auto done = compare(context); !done) {
    return done;
  }
  output.print("\n");
  output.heading("4. The whole story");
  if (auto done = run_report({.data = std::nullopt, .output = options.report}, context); !done) {
    return done;
  }
  return show_gpus(context);
}

}  // namespace carpool::app
