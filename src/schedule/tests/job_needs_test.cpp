#include "schedule/job_needs.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr std::uint64_t kFixedRoom = std::uint64_t{256} << 20U;

class Needs : public testing::Test {
 protected:
  // What is known of a job of the workload "w" with this request.
  LiveJob known(const JobSpec& spec, std::optional<std::uint64_t> reserve = std::nullopt) {
    record_ = {.id = 1, .spec = spec, .owner = {.uid = 1000}, .reserve_bytes = reserve};
    LiveJob job;
    job.record = &record_;
    job.key = "w";
    needs_.update(job);
    return job;
  }
  void ran(RunEnd end, double run_s, std::uint64_t peak_bytes) {
    record_ = {.id = 1, .owner = {.uid = 1000}};
    LiveJob job;
    job.record = &record_;
    job.key = "w";
    needs_.learn(job, {.end = end, .run_s = run_s, .peak_bytes = peak_bytes});
  }

  JobRecord record_;
  JobNeeds needs_{100 * kGiB, true};
};

TEST_F(Needs, NothingIsKnownOfANewWorkload) {
  const LiveJob job = known({});
  EXPECT_FALSE(job.view.need_bytes);
  EXPECT_EQ(job.view.need_basis, NeedBasis::Unknown);
  EXPECT_FALSE(job.view.runtime_s) << "policies do not take a guess for knowledge";
  EXPECT_DOUBLE_EQ(job.expected_s, 2400.0);
}

TEST_F(Needs, FinishedRunsReplaceAnEstimateAndRaiseAToldNumberOnlyIfTheyUsedMore) {
  ran(RunEnd::Succeeded, 100.0, 10 * kGiB);
  const std::uint64_t past = 10 * kGiB * 103 / 100 + kFixedRoom;
  const LiveJob bare = known({});
  EXPECT_NEAR(static_cast<double>(*bare.view.need_bytes), static_cast<double>(past), 8.0);
  EXPECT_EQ(bare.view.need_basis, NeedBasis::Finished);
  const LiveJob estimated = known({.mem_bytes = 30 * kGiB, .mem_auto = true});
  EXPECT_EQ(estimated.view.need_bytes, bare.view.need_bytes);
  EXPECT_EQ(estimated.view.need_basis, NeedBasis::Finished);
  const LiveJob told = known({.mem_bytes = 10 * kGiB});
  EXPECT_EQ(told.view.need_bytes, 10 * kGiB);
  EXPECT_EQ(told.view.need_basis, NeedBasis::Told);
  const LiveJob too_low = known({.mem_bytes = 9 * kGiB});
  EXPECT_EQ(too_low.view.need_bytes, bare.view.need_bytes);
  EXPECT_EQ(too_low.view.need_basis, NeedBasis::Finished);
}

TEST_F(Needs, ARunThatDidNotFinishDoesNotLowerAnEstimate) {
  ran(RunEnd::Cancelled, 100.0, 10 * kGiB);
  EXPECT_EQ(known({}).view.need_basis, NeedBasis::Seen);
  const LiveJob estimated = known({.mem_bytes = 30 * kGiB, .mem_auto = true});
  EXPECT_EQ(estimated.view.need_bytes, 30 * kGiB);
  EXPECT_EQ(estimated.view.need_basis, NeedBasis::Estimated);
}

TEST_F(Needs, ItsOwnFailuresCountMost) {
  ran(RunEnd::Succeeded, 100.0, 10 * kGiB);
  const LiveJob job = known({.mem_bytes = 5 * kGiB}, 20 * kGiB);
  EXPECT_EQ(job.view.need_bytes, 20 * kGiB);
  EXPECT_EQ(job.view.need_basis, NeedBasis::Failure);
  EXPECT_FALSE(job.needs_all);
  EXPECT_TRUE(known({}, 95 * kGiB).needs_all);
}

TEST_F(Needs, ALowerBoundDoesNotTakeAWholeGpu) {
  ran(RunEnd::OverCap, 5.0, 50 * kGiB);
  const LiveJob job = known({});
  EXPECT_EQ(job.view.need_bytes, 90 * kGiB);
  EXPECT_EQ(job.view.need_basis, NeedBasis::Seen);
  EXPECT_FALSE(job.needs_all);
}

TEST_F(Needs, ATimeLimitBoundsTheRunTimeAndIsNoRunTime) {
  const LiveJob unknown = known({.time_s = 600.0});
  EXPECT_FALSE(unknown.view.runtime_s);
  EXPECT_DOUBLE_EQ(unknown.expected_s, 600.0);
  EXPECT_DOUBLE_EQ(unknown.longest_s, 600.0);
  ran(RunEnd::Succeeded, 1000.0, kGiB);
  EXPECT_DOUBLE_EQ(*known({.time_s = 600.0}).view.runtime_s, 600.0);
  EXPECT_DOUBLE_EQ(*known({}).view.runtime_s, 1000.0);
  EXPECT_DOUBLE_EQ(known({}).longest_s, 2000.0);
  EXPECT_DOUBLE_EQ(*known({.runtime_s = 50.0}).view.runtime_s, 50.0);
}

}  // namespace
}  // namespace carpool::schedule
