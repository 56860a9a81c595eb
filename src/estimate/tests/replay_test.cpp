#include "estimate/replay/replay.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"
#include "estimate/tests/jobs_for_tests.hpp"

namespace carpool::estimate {
namespace {

std::int64_t reserved(const DescribedJob& job) {
  const auto replay = replay_job(job, {});
  EXPECT_TRUE(replay) << (replay ? "" : replay.error().message);
  return replay ? replay->result.reserved : 0;
}

TEST(Replay, ReservesAtLeastWhatItAllocates) {
  const auto jobs = jobs_of_all_kinds();
  ASSERT_EQ(jobs.size(), 104U);
  for (const DescribedJob& job : jobs) {
    const auto replay = replay_job(job, {});
    ASSERT_TRUE(replay);
    EXPECT_GE(replay->result.allocated, replay->result.weight_bytes);
    EXPECT_GE(replay->result.reserved, replay->result.allocated);
    std::int64_t sum = 0;
    for (const std::int64_t bytes : replay->result.uses) {
      EXPECT_GE(bytes, 0);
      sum += bytes;
    }
    EXPECT_EQ(sum, replay->result.allocated);
  }
}

TEST(Replay, LargerBatchesNeverAllocateLess) {
  for (DescribedJob job : jobs_of_all_kinds()) {
    std::int64_t before = 0;
    for (const std::int64_t batch : {1, 2, 4, 9, 16, 32, 64}) {
      job.setup.batch = batch;
      const auto replay = replay_job(job, {});
      ASSERT_TRUE(replay);
      // Up to the rounding of blocks that are not worth splitting.
      EXPECT_GE(replay->result.allocated + 4 * kMiB, before)
          << job.model.family << " at batch " << batch;
      before = replay->result.allocated;
    }
  }
}

TEST(Replay, MoreStepsNeedNoMoreMemory) {
  // From the second step on, when the optimizer states exist.
  for (const DescribedJob& job : jobs_of_all_kinds()) {
    const auto four = replay_job(job, {.steps = 4});
    const auto eight = replay_job(job, {.steps = 8});
    ASSERT_TRUE(four && eight);
    EXPECT_EQ(four->result.allocated, eight->result.allocated) << job.model.family;
    EXPECT_EQ(four->result.reserved, eight->result.reserved) << job.model.family;
  }
}

TEST(Replay, CountsStatesByOptimizer) {
  // Weights, gradients, two moments, and the temporary of all tensors at once.
  DescribedJob job = mlp_job();
  job.setup.batch = 1;
  const std::int64_t weights = replay_job(job, {})->result.weight_bytes;
  const auto states = [&](Optimizer optimizer) {
    job.setup.optimizer = optimizer;
    return replay_job(job, {})->result.uses[static_cast<std::size_t>(MemoryPurpose::Optimizer)];
  };
  EXPECT_EQ(states(Optimizer::Sgd), 0);
  EXPECT_NEAR(
      static_cast<double>(states(Optimizer::AdamFused)), 2.0 * static_cast<double>(weights), 2e6);
  EXPECT_NEAR(
      static_cast<double>(states(Optimizer::Adam)), 3.0 * static_cast<double>(weights), 2e6);
}

TEST(Replay, SharedKeyAndValueHeadsNeedAllAttentionWeightsInThirtyTwoBits) {
  DescribedJob job = transformer_job("llama", TransformerTask::CausalLm);
  job.setup.sequence = 512;
  const auto saved = [&](std::int64_t key_value_heads, Precision precision) {
    std::get<TransformerShape>(job.model.shape).key_value_heads = key_value_heads;
    job.setup.precision = precision;
    return replay_job(job, {})->result.saved;
  };
  // Weights of 4 blocks, 8 samples, 4 heads; the sums of a fused kernel fall away.
  constexpr double kWeights = 4.0 * 8 * 4 * 512 * 512 * 4;
  const auto more = static_cast<double>(saved(2, Precision::Fp32) - saved(4, Precision::Fp32));
  EXPECT_NEAR(more / kWeights, 1.0, 0.02);
  EXPECT_LT(saved(2, Precision::Bf16), saved(4, Precision::Bf16));
}

TEST(Replay, MaskedWindowsUseAFusedKernel) {
  DescribedJob job = transformer_job("mistral", TransformerTask::CausalLm);
  auto& shape = std::get<TransformerShape>(job.model.shape);
  shape.key_value_heads = 2;
  job.setup.sequence = 512;
  shape.window = 512;
  const std::int64_t masked = replay_job(job, {})->result.saved;
  // Otherwise all weights are materialised: 4 blocks, 8 samples, 4 heads.
  constexpr double kWeights = 4.0 * 8 * 4 * 512 * 512 * 4;
  const auto more = [&] {
    return static_cast<double>(replay_job(job, {})->result.saved - masked) / kWeights;
  };
  shape.window = 0;
  EXPECT_NEAR(more(), 1.0, 0.05);
  shape.window.reset();  // Mistral's default is longer than the sequence
  EXPECT_NEAR(more(), 1.0, 0.05);
}

TEST(Replay, AutocastComputesTheGpt2ActivationInThirtyTwoBits) {
  DescribedJob job = transformer_job("gpt2", TransformerTask::CausalLm);
  const auto saved = [&](Precision precision) {
    job.setup.precision = precision;
    return replay_job(job, {})->result.saved;
  };
  // 6 bytes more for each of the 4 h elements of 4 blocks' 8 x 128 tokens, at least.
  EXPECT_GT(saved(Precision::AmpBf16), saved(Precision::Bf16) + 6LL * 4 * 256 * 4 * 8 * 128);
}

TEST(Replay, MemorySavingOptionsReduceMemory) {
  const DescribedJob plain = transformer_job("llama", TransformerTask::CausalLm);
  DescribedJob job = plain;
  job.setup.batch = 64;
  const std::int64_t before = reserved(job);
  DescribedJob checkpointed = job;
  checkpointed.setup.checkpointing = true;
  EXPECT_LT(reserved(checkpointed), before);
  DescribedJob narrow = job;
  narrow.setup.precision = Precision::Bf16;
  EXPECT_LT(reserved(narrow), before);
  DescribedJob eager = job;
  eager.setup.sequence = 512;
  const std::int64_t with_sdpa = reserved(eager);
  eager.setup.attention = AttentionKind::Eager;
  EXPECT_GT(reserved(eager), with_sdpa);
  DescribedJob inference = job;
  inference.setup.mode = RunMode::Infer;
  EXPECT_LT(reserved(inference), before);
}

TEST(Replay, SqueezeAndExciteGatesScaleTheLargeTensor) {
  // Without the gate the input of the last convolution would have 32 values per sample.
  const auto replay = replay_job(list_job(), {.workspace_factor = 0.0});
  ASSERT_TRUE(replay);
  constexpr std::int64_t kLarge = 4LL * 32 * 64 * 64 * 4;  // bytes of one activation
  EXPECT_GE(replay->result.saved, 8 * kLarge + 2 * kLarge);
  EXPECT_EQ(replay->unknown_layers, 0U);
}

// Blocks of a vision transformer whose attention is not a module.
DescribedJob hidden_attention_job() {
  constexpr std::int64_t kWidth = 64;
  const std::vector<std::int64_t> tokens = {4, 50, kWidth};
  LayerList list{.batch = 4, .input_elements = 3LL * 56 * 56};
  list.layers.push_back(
      {.type = "Conv2d", .shape = {4, kWidth, 7, 7}, .element_bytes = 4, .parameters = 12'352});
  list.layers.push_back({.type = "Dropout", .shape = tokens, .element_bytes = 4});
  for (int block = 0; block < 3; ++block) {
    for (const auto& [type, parameters] :
         {std::pair{"LayerNorm", 2 * kWidth}, {"Dropout", 0}, {"LayerNorm", 2 * kWidth}}) {
      list.layers.push_back(
          {.type = type, .shape = tokens, .element_bytes = 4, .parameters = parameters});
    }
    list.layers.push_back({.type = "Linear",
                           .shape = tokens,
                           .element_bytes = 4,
                           .parameters = kWidth * (kWidth + 1)});
  }
  for (const LayerLine& line : list.layers) {
    list.parameters += line.parameters;
  }
  list.parameters += std::int64_t{3} * 4 * kWidth * (kWidth + 1);
  DescribedJob job = list_job();
  job.model.shape = list;
  job.setup.batch = 4;
  return job;
}

TEST(Replay, HiddenAttentionIsRecognisedByItsParameters) {
  DescribedJob job = hidden_attention_job();
  const auto found = replay_job(job, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->unseen_parameters, 0.0);
  auto& list = std::get<LayerList>(job.model.shape);
  list.parameters -= 12LL * 64 * 65;
  const auto without = replay_job(job, {});
  ASSERT_TRUE(without);
  // At least queries, keys, values, the output of the attention and the norm before it.
  EXPECT_GT(found->result.saved, without->result.saved + 3LL * 4 * 4 * 50 * 64 * 4);
}

TEST(Replay, UnknownLayersAreCounted) {
  DescribedJob job = list_job();
  std::get<LayerList>(job.model.shape).layers[2].type = "Frobnicate";
  EXPECT_EQ(replay_job(job, {})->unknown_layers, 1U);
}

TEST(Replay, RefusesAbsurdSizes) {
  DescribedJob job = mlp_job();
  for (const std::int64_t batch :
       {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1'000'000'000'000}}) {
    job.setup.batch = batch;
    const auto replay = replay_job(job, {});
    ASSERT_FALSE(replay);
    EXPECT_EQ(replay.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(replay.error().message.find("batch"), std::string::npos);
  }
  job.setup.batch = 90'000'000;
  EXPECT_FALSE(replay_job(job, {}));  // more than any GPU has
  DescribedJob unknown = transformer_job("brandnew", TransformerTask::CausalLm);
  EXPECT_NE(replay_job(unknown, {}).error().message.find("llama"), std::string::npos);
}

}  // namespace
}  // namespace carpool::estimate
