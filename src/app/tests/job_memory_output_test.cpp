#include "app/output/job_memory_output.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr std::int64_t kOneGiB = std::int64_t{1} << 30;

// 0.5 + 1 + 1 + 1 + 0.25 + 0.25 = 4 GiB.
MemoryEstimate four_gib() {
  return {.expected = 4 * kOneGiB,
          .upper = 11 * kOneGiB / 2,
          .confidence = 0.99,
          .basis = "config",
          .breakdown = {.context = kOneGiB / 2,
                        .weights = kOneGiB,
                        .gradients = kOneGiB,
                        .optimizer = kOneGiB,
                        .activations = kOneGiB / 4,
                        .workspace = kOneGiB / 4},
          .notes = {"attention is not stored"}};
}

std::string memory_text(const JobMemoryListing& listing) {
  return printed([&](const Output& output) { print_job_memory(listing, output); });
}

TEST(JobMemoryOutput, TheTableHasPeakBoundAndParts) {
  const MemoryEstimate estimate = four_gib();
  EXPECT_EQ(memory_text({.what = "config.json",
                         .run = "training, batch 8",
                         .estimate = estimate,
                         .levers = {{.change = "batch 4 instead of 8", .expected = 3 * kOneGiB}}}),
            "config.json: training, batch 8\n"
            "GPU memory         [GiB]\n"
            "expected peak       4.00\n"
            "upper bound, 99 %   5.50\n"
            "  context           0.50\n"
            "  weights           1.00\n"
            "  gradients         1.00\n"
            "  optimizer         1.00\n"
            "  activations       0.25\n"
            "  workspace         0.25\n"
            "  allocator slack   0.00\n"
            "basis: config\n"
            "to reduce it:\n"
            "  batch 4 instead of 8: 3.00 GiB\n"
            "notes:\n"
            "  attention is not stored\n");
}

TEST(JobMemoryOutput, AnEstimateFromEarlierRunsHasNoParts) {
  MemoryEstimate estimate = four_gib();
  estimate.basis = "history";
  estimate.notes.clear();
  const JobMemoryListing listing{
      .what = "train.py",
      .run = "from earlier runs",
      .estimate = estimate,
      .history = {{.job = 7, .batch = 8, .ended_s = 100.0, .run_s = 5.0, .peak_bytes = 4096},
                  {.job = 3, .ended_s = 50.0, .run_s = 2.5}}};
  EXPECT_EQ(memory_text(listing),
            "train.py: from earlier runs\n"
            "GPU memory         [GiB]\n"
            "expected peak       4.00\n"
            "upper bound, 99 %   5.50\n"
            "basis: history\n");
  const json out = job_memory_to_json(listing);
  EXPECT_EQ(out.at("breakdown_bytes"), nullptr);
  EXPECT_EQ(out.at("history"), json::parse(R"([
      {"job": 7, "ended_s": 100.0, "run_s": 5.0, "batch": 8, "peak_bytes": 4096},
      {"job": 3, "ended_s": 50.0, "run_s": 2.5}])"));
}

TEST(JobMemoryOutput, TheLargestBatchIsShownForAGivenMemory) {
  const MemoryEstimate estimate = four_gib();
  EXPECT_NE(memory_text({.estimate = estimate, .fits = FittingBatch{24 * kOneGiB, 48}})
                .find("\nlargest batch within 24 GiB: 48\n"),
            std::string::npos);
  EXPECT_NE(memory_text({.estimate = estimate, .fits = FittingBatch{kOneGiB / 2, std::nullopt}})
                .find("\na single sample does not fit in 0.5 GiB\n"),
            std::string::npos);
}

TEST(JobMemoryOutput, AtMostFiveLeversAreShownAndAllAreInJson) {
  const MemoryEstimate estimate = four_gib();
  JobMemoryListing listing{.estimate = estimate};
  for (int i = 1; i <= 6; ++i) {
    listing.levers.push_back({.change = "change " + std::to_string(i), .expected = kOneGiB});
  }
  const std::string text = memory_text(listing);
  EXPECT_NE(text.find("  change 5: 1.00 GiB\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("change 6"), std::string::npos) << text;
  EXPECT_EQ(job_memory_to_json(listing).at("levers").size(), 6U);
}

TEST(JobMemoryOutput, JsonHasBytes) {
  const MemoryEstimate estimate = four_gib();
  const json out = job_memory_to_json({.what = "config.json",
                                       .run = "training",
                                       .estimate = estimate,
                                       .fits = FittingBatch{kOneGiB, std::nullopt}});
  EXPECT_EQ(out.at("job"), "config.json");
  EXPECT_EQ(out.at("run"), "training");
  EXPECT_EQ(out.at("expected_bytes"), 4 * kOneGiB);
  EXPECT_EQ(out.at("upper_bytes"), 11 * kOneGiB / 2);
  EXPECT_EQ(out.at("confidence"), 0.99);
  EXPECT_EQ(out.at("basis"), "config");
  EXPECT_EQ(out.at("breakdown_bytes").at("context"), kOneGiB / 2);
  EXPECT_EQ(out.at("breakdown_bytes").at("allocator_slack"), 0);
  EXPECT_EQ(out.at("fits"), (json{{"memory_bytes", kOneGiB}, {"largest_batch", nullptr}}));
  EXPECT_EQ(out.at("notes"), json::array({"attention is not stored"}));
  EXPECT_FALSE(out.contains("history"));
}

TEST(JobMemoryOutput, ASetupIsNamedByWhatDiffersFromThePlainOne) {
  EXPECT_EQ(spoken_setup({.batch = 8}), "training, batch 8, fp32, AdamW");
  EXPECT_EQ(spoken_setup({.mode = RunMode::Infer, .precision = Precision::Bf16, .sequence = 1024}),
            "inference, batch 1, bf16, 1024 tokens");
  EXPECT_EQ(
      spoken_setup({.optimizer = Optimizer::Sgd,
                    .batch = 2,
                    .accumulation = 4,
                    .checkpointing = true,
                    .lora_rank = 16,
                    .gpus = 2,
                    .zero_stage = 3}),
      "training, batch 2, fp32, SGD, checkpointing, LoRA rank 16, 4 batches per step, 2 GPUs, "
      "ZeRO stage 3");
}

TEST(JobMemoryOutput, AnAnswerFromHistoryNamesTheBatchSizesItComesFrom) {
  HistoryAnswer answer;
  answer.like.batch = 8;
  answer.past.from = {{.job = 1, .batch = 8}};
  EXPECT_EQ(spoken_history(answer), "batch 8, from earlier runs");
  answer.past.from[0].batch = 16;
  EXPECT_EQ(spoken_history(answer), "batch 8, from runs at other batch sizes");
  answer.like.batch.reset();
  answer.past.from[0].batch.reset();
  EXPECT_EQ(spoken_history(answer), "from earlier runs");
}

}  // namespace
}  // namespace carpool::app
