#include "estimate/replay/zero.hpp"

#include <gtest/gtest.h>

#include "estimate/tests/jobs_for_tests.hpp"

namespace carpool::estimate {
namespace {

constexpr std::int64_t kModelParameters = 1000;
constexpr std::int64_t kLargestLayer = 2'048'000;  // embedding of transformer_job(): 8000 x 256

DescribedJob shared_job(unsigned stage) {
  DescribedJob job = transformer_job("llama", TransformerTask::CausalLm);
  job.setup.gpus = 4;
  job.setup.zero_stage = stage;
  return job;
}

// 1250 bytes, bound 2500.
MemoryEstimate on_one_gpu() {
  return {.expected = 1250,
          .upper = 2500,
          .breakdown = {.context = 100,
                        .weights = 400,
                        .gradients = 200,
                        .optimizer = 480,
                        .activations = 50,
                        .workspace = 7,
                        .allocator_slack = 13}};
}

MemoryEstimate shared(const DescribedJob& job) {
  MemoryEstimate estimate = on_one_gpu();
  share_states(job, {.parameters = kModelParameters}, estimate);
  return estimate;
}

TEST(Zero, StageOnePartitionsTheOptimizer) {
  const MemoryEstimate estimate = shared(shared_job(1));
  EXPECT_EQ(estimate.breakdown.optimizer, 120);
  EXPECT_EQ(estimate.breakdown.gradients, 200);
  EXPECT_EQ(estimate.breakdown.weights, 400);
  EXPECT_EQ(estimate.breakdown.workspace, 7 + 4 * kModelParameters);  // the reduce buffer
  EXPECT_EQ(estimate.expected, 100 + 400 + 200 + 120 + 50 + 4007 + 13);
  EXPECT_EQ(estimate.upper, 2 * estimate.expected);
}

TEST(Zero, StageTwoPartitionsTheGradientsToo) {
  const MemoryEstimate estimate = shared(shared_job(2));
  EXPECT_EQ(estimate.breakdown.optimizer, 120);
  EXPECT_EQ(estimate.breakdown.gradients, 50);
  EXPECT_EQ(estimate.breakdown.weights, 400);
  EXPECT_EQ(estimate.expected, shared(shared_job(1)).expected - 150);
}

TEST(Zero, StageThreePartitionsTheWeightsAndGathersTwoLayers) {
  const MemoryEstimate estimate = shared(shared_job(3));
  EXPECT_EQ(estimate.breakdown.weights, 100);
  EXPECT_EQ(estimate.breakdown.workspace, 7 + 4 * kModelParameters + 8 * kLargestLayer);
  EXPECT_EQ(estimate.expected, shared(shared_job(2)).expected - 300 + 8 * kLargestLayer);
}

TEST(Zero, OneGpuInferenceAndStageZeroChangeNothing) {
  DescribedJob single = shared_job(2);
  single.setup.gpus = 1;
  DescribedJob inference = shared_job(2);
  inference.setup.mode = RunMode::Infer;
  for (const DescribedJob& job : {single, inference, shared_job(0)}) {
    const MemoryEstimate estimate = shared(job);
    EXPECT_EQ(estimate.expected, 1250);
    EXPECT_EQ(estimate.upper, 2500);
    EXPECT_EQ(estimate.breakdown.optimizer, 480);
    EXPECT_TRUE(estimate.notes.empty());
  }
}

}  // namespace
}  // namespace carpool::estimate
