#include "measure/campaign.hpp"

#include <algorithm>
#include <map>

#include "base/files/file.hpp"
#include "measure/tests/measuring_test.hpp"

namespace carpool::measure {
namespace {

class CampaignTest : public MeasuringTest {
 protected:
  void SetUp() override {
    MeasuringTest::SetUp();
    std::filesystem::create_directory(dataset());
    member("ms4");
    member("ms10");
    PlannedGroups& pairs = plan_.groups.emplace_back();
    pairs.table = "pairs";
    pairs.members = {{0, 1}, {0, 0}};
  }

  [[nodiscard]] std::filesystem::path dataset() const { return folder_.path() / "data"; }

  Result<CampaignOutcome> run(std::optional<double> limit = std::nullopt, bool retry = false) {
    const CampaignEvents events{
        .planned = [this](std::size_t windows) { told_ = windows; },
        .starting = [](const std::string&) {},
        .measured = [this](const Measurement& measurement) { ++seen_[measurement.key]; },
        .stop = [this] { return stop_(); }};
    return run_campaign(plan_,
                        {.folder = dataset(),
                         .scratch = scratch(),
                         .mps_folder = mps_folder(),
                         .limit_seconds = limit,
                         .retry_failed = retry},
                        telemetry_,
                        events);
  }
  CampaignOutcome ran(std::optional<double> limit = std::nullopt, bool retry = false) {
    const auto outcome = run(limit, retry);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome.value_or(CampaignOutcome{});
  }

  [[nodiscard]] std::size_t lines(const char* name) const {
    const auto text = read_file(dataset() / name);
    return text ? static_cast<std::size_t>(std::ranges::count(*text, '\n')) : 0;
  }

  std::size_t told_ = 0;
  std::map<std::string, int> seen_;
  std::function<bool()> stop_ = [] { return false; };
};

TEST_F(CampaignTest, MeasuresAWholePlanOnce) {
  const CampaignOutcome outcome = ran();
  EXPECT_EQ(outcome.planned, 4U);
  EXPECT_EQ(outcome.done, 4U);
  EXPECT_EQ(outcome.failed, 0U);
  EXPECT_EQ(outcome.measured, 4U);
  EXPECT_FALSE(outcome.stopped);
  EXPECT_EQ(told_, 4U);
  EXPECT_EQ(lines("measurements.jsonl"), 5U);
  EXPECT_EQ(lines("profiles.csv"), 3U);
  EXPECT_EQ(lines("pairs.csv"), 3U);
  EXPECT_EQ(lines("cells.csv"), 1 + 2 + 4U);
  EXPECT_EQ(lines("failures.csv"), 1U);
  EXPECT_TRUE(std::filesystem::is_empty(scratch()));
  EXPECT_FALSE(std::filesystem::exists(mps_folder()));

  EXPECT_EQ(ran().measured, 0U);
  EXPECT_EQ(told_, 0U);
}

TEST_F(CampaignTest, GoesOnWhereTheTimeLimitStoppedIt) {
  CampaignOutcome outcome;
  int runs = 0;
  for (; outcome.done < 4 || runs == 0; ++runs) {
    ASSERT_LT(runs, 40);
    // First too short for four windows, then long enough for a busy machine.
    outcome = ran(0.5 + 0.1 * runs);
    EXPECT_EQ(outcome.stopped, outcome.done < 4);
  }
  EXPECT_GT(runs, 1);
  EXPECT_EQ(seen_.size(), 4U);
  for (const auto& [key, times] : seen_) {
    EXPECT_EQ(times, 1) << key;
  }
}

TEST_F(CampaignTest, AFailureIsRecordedAndRetriedOnlyWhenAsked) {
  member("ms10-die8");
  plan_.groups[0].members.push_back({0, 2});
  const CampaignOutcome first = ran();
  EXPECT_EQ(first.done, 6U);
  EXPECT_EQ(first.failed, 2U);  // solo and in its pair
  EXPECT_EQ(lines("failures.csv"), 3U);
  EXPECT_EQ(lines("pairs.csv"), 3U);
  EXPECT_EQ(ran().measured, 0U);

  plan_.workloads[2].command = {CARPOOL_FAKE_WORKLOAD, "ms10"};  // repaired
  const CampaignOutcome again = ran(std::nullopt, true);
  EXPECT_EQ(again.measured, 2U);
  EXPECT_EQ(again.failed, 0U);
  EXPECT_EQ(lines("failures.csv"), 1U);
  EXPECT_EQ(lines("pairs.csv"), 4U);
}

TEST_F(CampaignTest, AskedToStopItKeepsWhatIsThereAndRecordsNothingHalf) {
  stop_ = [this] { return !seen_.empty(); };
  const CampaignOutcome outcome = ran();
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.done, 1U);
  EXPECT_EQ(outcome.failed, 0U);
  EXPECT_EQ(lines("measurements.jsonl"), 2U);
  EXPECT_GE(lines("cells.csv"), 2U);
}

TEST_F(CampaignTest, AGpuThatIsNotThereIsRefusedBeforeAnythingIsWritten) {
  plan_.gpu = 7;
  const auto outcome = run();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::NotFound);
  EXPECT_TRUE(std::filesystem::is_empty(dataset()));
}

TEST_F(CampaignTest, WithoutMpsNothingIsCalledAFailureOfTheWorkloads) {
  ::setenv("CARPOOL_MPS_CONTROL", "/nonexistent/mps", 1);
  EXPECT_FALSE(run().has_value());
  EXPECT_EQ(lines("measurements.jsonl"), 1U);
}

TEST_F(CampaignTest, TroubleOfOursKeepsTheTablesOfWhatWasMeasured) {
  stop_ = [this] {
    if (!seen_.empty()) {
      telemetry_.break_gpu(0, {ErrorCode::Internal, "GPU is lost"});
    }
    return false;
  };
  EXPECT_FALSE(run().has_value());
  EXPECT_EQ(seen_.size(), 1U);
  EXPECT_GE(lines("cells.csv"), 2U);
}

TEST(Remaining, IsWhatTheJournalDoesNotKnowOrKnowsAsFailedLast) {
  Plan plan;
  plan.solo_repeats = 3;
  plan.workloads.emplace_back().name = "a";
  plan.groups.emplace_back().members = {{0}};
  const auto entry = [](const std::string& key, bool failed) {
    Measurement out;
    out.key = key;
    out.failure = failed ? std::optional(Failure{"crash", ""}) : std::nullopt;
    return out;
  };
  const std::vector<Measurement> journal = {entry("alone mps a #0", true),
                                            entry("alone mps a #1", true),
                                            entry("alone mps a #1", false),
                                            entry("of another plan", false)};
  const auto left = [&](bool retry) {
    std::vector<std::size_t> repeats;
    for (const Cell& cell : remaining(plan, journal, retry)) {
      repeats.push_back(cell.repeat);
    }
    return repeats;
  };
  EXPECT_EQ(left(false), std::vector<std::size_t>{2});
  EXPECT_EQ(left(true), (std::vector<std::size_t>{0, 2}));
}

}  // namespace
}  // namespace carpool::measure
