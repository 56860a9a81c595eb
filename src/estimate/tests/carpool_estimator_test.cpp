#include "estimate/bound/carpool_estimator.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "estimate/advice.hpp"
#include "estimate/bound/estimator_file.hpp"
#include "estimate/judge/evaluation.hpp"
#include "estimate/registry.hpp"
#include "estimate/tests/jobs_for_tests.hpp"

namespace carpool::estimate {
namespace {

const std::filesystem::path measured_rows =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/memory-collected/rows.jsonl.gz";

class MeasuredH200 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto read = read_measured_jobs(measured_rows, RowView::Layers, {});
    ASSERT_TRUE(read) << read.error().message;
    jobs() = std::move(*read);
  }
  static MeasuredJobs& jobs() {
    static MeasuredJobs loaded;
    return loaded;
  }
  static std::unique_ptr<CarpoolEstimator> fitted() {
    FactsCache cache(nullptr);
    EstimatorTraining training{.cache = &cache};
    for (const MeasuredJob& row : jobs().rows) {
      training.rows.push_back(&row);
    }
    auto fit = fit_carpool(training);
    EXPECT_TRUE(fit);
    return std::move(*fit);
  }
};

TEST_F(MeasuredH200, PerceptronsAndLanguageModelsAreReplayedNearlyExactly) {
  EstimatorEvaluation settings;
  settings.estimators = {"carpool"};
  const auto results = evaluate_estimators(jobs().rows, settings);
  ASSERT_TRUE(results);
  for (const EstimatorScore& score : results->at(0).scores) {
    if (score.family == "mlp" || score.family == "llm") {
      EXPECT_LT(*score.mape, 0.02) << score.family;
      EXPECT_LT(*score.median_error, 0.005) << score.family;
    }
    if (score.family == "hf") {
      EXPECT_LT(*score.mape, 0.03);
    }
    if (score.family == "all") {
      EXPECT_LT(*score.mape, 0.09);
      EXPECT_GT(*score.bound_covers, 0.96);
      EXPECT_EQ(score.unanswered, 0U);
    }
  }
}

TEST_F(MeasuredH200, TheBreakdownAddsUpAndTheBoundIsAbove) {
  const auto estimator = fitted();
  for (const DescribedJob& job : jobs_of_all_kinds()) {
    const auto estimate = estimator->estimate(job);
    ASSERT_TRUE(estimate);
    EXPECT_EQ(estimate->breakdown.total(), estimate->expected);
    EXPECT_GE(estimate->upper, estimate->expected);
    EXPECT_GE(estimate->expected, estimate->breakdown.context + estimate->breakdown.weights / 2);
    EXPECT_FALSE(estimate->basis.empty());
  }
}

TEST_F(MeasuredH200, AFileGivesTheSameEstimator) {
  const auto estimator = fitted();
  const std::string text = serialize_estimator(*estimator, {.data = "rows"});
  const auto again = parse_estimator(text, "file");
  ASSERT_TRUE(again) << again.error().message;
  for (const DescribedJob& job : jobs_of_all_kinds()) {
    const auto one = estimator->estimate(job);
    const auto two = (*again)->estimate(job);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->expected, two->expected);
    EXPECT_EQ(one->upper, two->upper);
  }
  std::string altered = text;
  altered[altered.find("slope") + 8] = '7';
  EXPECT_EQ(parse_estimator(altered, "file").error().code, ErrorCode::Corrupt);
  EXPECT_EQ(parse_estimator(text.substr(0, text.size() / 2), "file").error().code,
            ErrorCode::Corrupt);
}

TEST_F(MeasuredH200, ALowerConfidenceGivesALowerBound) {
  const auto estimator = fitted();
  CarpoolFit fit = estimator->fit();
  fit.confidence = 0.8;
  const CarpoolEstimator bolder(std::move(fit));
  const DescribedJob job = cnn_job();
  EXPECT_LT(bolder.estimate(job)->upper, estimator->estimate(job)->upper);
  EXPECT_EQ(bolder.estimate(job)->expected, estimator->estimate(job)->expected);
}

TEST_F(MeasuredH200, LeversNameWhatHelpsMostFirst) {
  DescribedJob job = transformer_job("gpt2", TransformerTask::CausalLm);
  job.setup.batch = 32;
  const auto estimator = fitted();
  const auto found = levers(*estimator, job);
  ASSERT_FALSE(found.empty());
  EXPECT_LT(found.front().expected, estimator->estimate(job)->expected);
  EXPECT_TRUE(std::ranges::is_sorted(found, {}, &MemoryLever::expected));
}

TEST_F(MeasuredH200, TheLargestBatchFitsAndTheNextDoesNot) {
  const auto estimator = fitted();
  DescribedJob job = transformer_job("bert", TransformerTask::MaskedLm);
  constexpr std::int64_t kRoom = std::int64_t{8} << 30;
  const auto largest = largest_batch(*estimator, job, kRoom);
  ASSERT_TRUE(largest);
  ASSERT_TRUE(*largest);
  job.setup.batch = **largest;
  EXPECT_LE(estimator->estimate(job)->upper, kRoom);
  job.setup.batch = **largest + 1;
  EXPECT_GT(estimator->estimate(job)->upper, kRoom);
  EXPECT_EQ(*largest_batch(*estimator, job, 1), std::nullopt);
}

TEST_F(MeasuredH200, SharedStatesNeedLessOnEachGpu) {
  const auto estimator = fitted();
  DescribedJob job = transformer_job("llama", TransformerTask::CausalLm);
  job.setup.batch = 1;
  job.setup.gpus = 8;
  std::int64_t before = estimator->estimate(job)->breakdown.optimizer;
  for (const unsigned stage : {1U, 2U, 3U}) {
    job.setup.zero_stage = stage;
    const auto estimate = estimator->estimate(job);
    ASSERT_TRUE(estimate);
    EXPECT_EQ(estimate->breakdown.total(), estimate->expected);
    EXPECT_LE(estimate->breakdown.optimizer, before);
    before = estimate->breakdown.optimizer;
  }
}

}  // namespace
}  // namespace carpool::estimate
