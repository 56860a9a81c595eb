#include <map>
#include <string_view>

#include <gtest/gtest.h>

#include "base/numpy_random.hpp"
#include "estimate/published/class_ensemble.hpp"
#include "estimate/published/formulas.hpp"
#include "estimate/registry.hpp"
#include "estimate/tests/jobs_for_tests.hpp"

namespace carpool::estimate {
namespace {

DescribedJob tiny_job() {
  DescribedJob job = mlp_job();
  job.model.shape = MlpShape{.inputs = 10, .widths = {20}, .classes = 5};
  job.setup.batch = 3;
  return job;
}

constexpr std::int64_t kParameters = 10 * 20 + 20 + 20 * 5 + 5;
constexpr std::int64_t kOutputs = 20 + 20 + 5;  // linear, ReLU, linear

TEST(Horus, CountsGradientsPerSample) {
  const auto estimate = make_horus()->estimate(tiny_job());
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->expected, 4 * (3 * kOutputs + kParameters + 3 * kParameters));
}

TEST(DeepSpeed, CountsStatesByStage) {
  DescribedJob job = tiny_job();
  EXPECT_EQ(make_deepspeed()->estimate(job)->expected, 20 * kParameters);
  job.setup.gpus = 5;
  job.setup.zero_stage = 2;
  EXPECT_EQ(make_deepspeed()->estimate(job)->expected, 4 * kParameters + 16 * kParameters / 5);
}

TEST(FakeTensor, LeavesOutWeightsStatesAndLibraries) {
  const auto estimate = make_faketensor()->estimate(mlp_job());
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->breakdown.weights, 0);
  EXPECT_EQ(estimate->breakdown.context, 0);
  EXPECT_GT(estimate->expected, 0);
}

TEST(LlMem, SupportsTheTrainingOfDecodersOnly) {
  EXPECT_TRUE(make_llmem(0)->estimate(transformer_job("llama", TransformerTask::CausalLm)));
  const auto refused = make_llmem(0)->estimate(mlp_job());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
}

TEST(DnnMem, UsesTheContextOfTheMachineOrTheFallback) {
  DescribedJob job = mlp_job();
  EXPECT_EQ(make_dnnmem(7)->estimate(job)->breakdown.context, *job.machine.context_bytes);
  job.machine.context_bytes.reset();
  EXPECT_EQ(make_dnnmem(7)->estimate(job)->breakdown.context, 7);
}

TEST(Registry, FormulasNeedNoRowsAndFittedEstimatorsRefuseWithoutThem) {
  FactsCache cache(nullptr);
  const EstimatorTraining nothing{.cache = &cache};
  std::map<std::string_view, std::size_t> answered;
  for (const EstimatorKind& kind : estimator_kinds()) {
    const auto estimator = kind.fit(nothing);
    if (!estimator) {
      const bool needs_rows = kind.name == "carpool" || kind.name == "gpumemnet-mlp";
      EXPECT_TRUE(needs_rows) << kind.name << ": " << estimator.error().message;
      continue;
    }
    EXPECT_EQ((*estimator)->name(), kind.name);
    for (const DescribedJob& job : jobs_of_all_kinds()) {
      const auto estimate = (*estimator)->estimate(job);
      if (estimate) {
        EXPECT_GT(estimate->expected, 0) << kind.name;
        ++answered[kind.name];
      } else {
        EXPECT_EQ(estimate.error().code, ErrorCode::Unsupported) << estimate.error().message;
      }
    }
  }
  // LLMem answers for the 4 decoders with 6 of the 8 setups: not in inference.
  const std::map<std::string_view, std::size_t> expected = {
      {"horus", 104}, {"faketensor", 104}, {"deepspeed", 104}, {"llmem", 24}, {"dnnmem", 104}};
  EXPECT_EQ(answered, expected);
}

TEST(ClassEnsemble, HasThePublishedNumberOfParametersAndLearns) {
  NumpyRandom random(3);
  ClassRows rows;
  rows.inputs.resize(400, 8);
  for (Eigen::Index row = 0; row < rows.inputs.rows(); ++row) {
    for (Eigen::Index column = 0; column < 8; ++column) {
      rows.inputs(row, column) = random.normal();
    }
    rows.classes.push_back(rows.inputs(row, 0) + rows.inputs(row, 1) > 0.0 ? 1 : 0);
  }
  EnsembleSettings settings{.of_each = 1, .epochs = 60};
  const ClassEnsemble ensemble = ClassEnsemble::train(rows, rows, 5, settings, 0);
  EXPECT_EQ(ensemble.parameters(), 1495U);  // as GPUMemNet's paper counts them
  int right = 0;
  for (Eigen::Index row = 0; row < rows.inputs.rows(); ++row) {
    right += ensemble.predict(rows.inputs.row(row)) == rows.classes[static_cast<std::size_t>(row)];
  }
  EXPECT_GT(right, 360);
}

}  // namespace
}  // namespace carpool::estimate
