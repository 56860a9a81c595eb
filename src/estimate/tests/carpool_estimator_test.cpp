#include "estimate/bound/carpool_estimator.hpp"

#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"
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
  static const CarpoolEstimator* fitted() {
    static const std::unique_ptr<CarpoolEstimator> estimator = fit();
    return estimator.get();
  }

 private:
  static std::unique_ptr<CarpoolEstimator> fit() {
    FactsCache cache(nullptr);
    EstimatorTraining training{.cache = &cache};
    for (const MeasuredJob& row : jobs().rows) {
      training.rows.push_back(&row);
    }
    auto fitted = fit_carpool(training);
    EXPECT_TRUE(fitted);
    return std::move(*fitted);
  }
};

TEST_F(MeasuredH200, EstimatesOfPerceptronsAndLanguageModelsAreNearlyExact) {
  EstimatorEvaluation settings;
  settings.estimators = {"carpool"};
  const auto results = evaluate_estimators(jobs().rows, settings);
  ASSERT_TRUE(results);
  std::map<std::string, EstimatorScore> scores;
  for (const EstimatorScore& score : results->at(0).scores) {
    scores[score.family] = score;
  }
  for (const char* family : {"mlp", "llm"}) {
    ASSERT_GT(scores[family].rows, 0U) << family;
    EXPECT_LT(*scores[family].mape, 0.02) << family;
    EXPECT_LT(*scores[family].median_error, 0.005) << family;
  }
  ASSERT_GT(scores["hf"].rows, 0U);
  EXPECT_LT(*scores["hf"].mape, 0.03);
  EXPECT_GT(scores["all"].rows, scores["mlp"].rows + scores["llm"].rows + scores["hf"].rows);
  EXPECT_LT(*scores["all"].mape, 0.09);
  EXPECT_GT(*scores["all"].bound_covers, 0.96);
  EXPECT_EQ(scores["all"].unanswered, 0U);
}

TEST_F(MeasuredH200, TheBoundIsAboveTheExpectedValue) {
  const auto estimator = fitted();
  const auto jobs_to_estimate = jobs_of_all_kinds();
  ASSERT_EQ(jobs_to_estimate.size(), 104U);
  for (const DescribedJob& job : jobs_to_estimate) {
    const auto estimate = estimator->estimate(job);
    ASSERT_TRUE(estimate);
    EXPECT_GE(estimate->upper, estimate->expected);
    EXPECT_GE(estimate->expected, estimate->breakdown.context + estimate->breakdown.weights / 2);
    EXPECT_FALSE(estimate->basis.empty());
  }
}

// Without a fitted correction the slack is what the allocator reserves beyond the tensors.
TEST(CarpoolEstimator, TheBreakdownIsThatOfTheReplay) {
  const auto jobs = jobs_of_all_kinds();
  ASSERT_EQ(jobs.size(), 104U);
  for (const DescribedJob& job : jobs) {
    CarpoolFit fit;
    fit.workspaces[workspace_class(job, {.convolutions = true})] = kUsualWorkspaces;
    const auto estimate = CarpoolEstimator(std::move(fit)).estimate(job);
    const auto replay = replay_job(job, {});
    ASSERT_TRUE(estimate && replay);
    const ReplayResult& result = replay->result;
    const MemoryBreakdown& parts = estimate->breakdown;
    EXPECT_EQ(parts.context, 760 * kMiB);
    EXPECT_EQ(parts.allocator_slack, result.reserved - result.allocated);
    EXPECT_EQ(parts.activations, result.uses[static_cast<std::size_t>(MemoryPurpose::Activations)]);
    EXPECT_EQ(estimate->expected, 760 * kMiB + result.reserved);
    EXPECT_EQ(parts.total(), estimate->expected);
  }
}

TEST_F(MeasuredH200, AStoredEstimatorGivesTheSameEstimates) {
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

TEST_F(MeasuredH200, LeversAreSortedByTheirEffect) {
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
  constexpr std::int64_t kRoom = 8 * kGiB;
  const auto largest = largest_batch(*estimator, job, kRoom);
  ASSERT_TRUE(largest);
  ASSERT_TRUE(*largest);
  job.setup.batch = **largest;
  EXPECT_LE(estimator->estimate(job)->upper, kRoom);
  job.setup.batch = **largest + 1;
  EXPECT_GT(estimator->estimate(job)->upper, kRoom);
  EXPECT_EQ(*largest_batch(*estimator, job, 1), std::nullopt);
}

// 4 bytes per parameter and its gradient, 12 for the two moments and the temporary of Adam.
TEST_F(MeasuredH200, EachZeroStageReducesTheMemoryByItsShare) {
  // Two tables of 8000 x 256; 4 blocks of 4 x 256² + 3 x 256 x 1024 + 2 x 256; the last norm.
  constexpr std::int64_t kTable = 2'048'000;
  constexpr std::int64_t kBlock = 4 * 65'536 + 3 * 262'144 + 512;
  constexpr std::int64_t kParameters = 2 * kTable + 4 * kBlock + 256;
  const auto estimator = fitted();
  DescribedJob job = transformer_job("llama", TransformerTask::CausalLm);
  job.setup.batch = 1;
  const MemoryEstimate single = *estimator->estimate(job);
  EXPECT_NEAR(static_cast<double>(single.breakdown.weights), 4.0 * kParameters, 1e5);
  EXPECT_NEAR(static_cast<double>(single.breakdown.gradients), 4.0 * kParameters, 1e5);
  EXPECT_NEAR(static_cast<double>(single.breakdown.optimizer), 12.0 * kParameters, 3e5);
  ASSERT_GE(single.breakdown.allocator_slack, 0);
  job.setup.gpus = 8;
  const auto expected_at = [&](unsigned stage) {
    job.setup.zero_stage = stage;
    return static_cast<double>(estimator->estimate(job)->expected);
  };
  constexpr double kOthers = 7.0 / 8.0;  // share of the other GPUs
  const auto without = static_cast<double>(single.expected);
  EXPECT_NEAR(without - expected_at(1), (kOthers * 12.0 - 4.0) * kParameters, 3e5);
  EXPECT_NEAR(expected_at(1) - expected_at(2), kOthers * 4.0 * kParameters, 1e5);
  EXPECT_NEAR(expected_at(2) - expected_at(3), kOthers * 4.0 * kParameters - 8.0 * kTable, 1e5);
}

}  // namespace
}  // namespace carpool::estimate
