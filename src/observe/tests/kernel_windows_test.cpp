#include <gtest/gtest.h>

#include "observe/tests/watched_files.hpp"

namespace carpool::observe {
namespace {

using gpu::window_format::Kernels;
using gpu::window_format::Kind;
using gpu::window_format::State;

constexpr Kernels kSome{.count = 1000,
                        .busy = 600'000,
                        .active = 300'000,
                        .fill = 500'000,
                        .warps = 200'000,
                        .mean_ns = 1'200'000,
                        .p90_ns = 2'000'000};

class KernelWindowsTest : public fake::WatchedFiles {
 protected:
  KernelWindowsTest() {
    for (WatchedJob& job : jobs_) {
      job.wants_kernels = true;
    }
  }

  // The window in which launches are counted has ended; waits for that of the kernels.
  void until_kernels(JobId job) {
    (void)look_for(6, {job});
    answer(job, State::Done, 2000);
    for (int i = 0; i < 30 && ordered_kind(job) != Kind::Kernels; ++i) {
      (void)look({job});
    }
    ASSERT_EQ(ordered_kind(job), Kind::Kernels);
  }

  // Windows of kernels are spoiled, of another phase, and nearly empty, in this order.
  void answer_with_bad_kernels(JobId job, unsigned number) {
    constexpr Kernels kFew{.count = 3, .busy = 1, .active = 1, .fill = 1};
    answer(job,
           number == 1 ? State::Spoiled : State::Done,
           number == 2 ? 200 : 2000,
           0,
           number == 3 ? kFew : kSome);
  }
};

TEST_F(KernelWindowsTest, AreOpenedOnceAfterLaunchesWereCounted) {
  (void)look_for(6, {7});
  EXPECT_EQ(ordered(7), 1U);
  EXPECT_EQ(ordered_kind(7), Kind::Launches);
  (void)look_for(4, {7});
  EXPECT_EQ(ordered(7), 1U);  // nothing was counted yet
  answer(7, State::Done, 2000);
  (void)look_for(2, {7});
  EXPECT_EQ(ordered(7), 2U);
  EXPECT_EQ(ordered_kind(7), Kind::Kernels);
  answer(7, State::Open, 0);
  (void)look_for(3, {7});
  EXPECT_TRUE(windows_.empty());
  answer(7, State::Done, 2500, 0, kSome);
  (void)look_for(40, {7});
  ASSERT_EQ(windows_[7].size(), 1U);
  const KernelWindow& window = windows_[7].front();
  EXPECT_EQ(window.kernels, 1000U);
  // 1000 launches a second were counted before, and 1250 in the window.
  EXPECT_DOUBLE_EQ(window.busy, 0.6 / 1.25);
  EXPECT_DOUBLE_EQ(window.active, 0.3 / 1.25);
  EXPECT_DOUBLE_EQ(window.fill, 0.5);
  EXPECT_DOUBLE_EQ(window.warps, 0.2);
  EXPECT_DOUBLE_EQ(window.mean_us, 1200.0);
  EXPECT_DOUBLE_EQ(window.p90_us, 2000.0);
  EXPECT_DOUBLE_EQ(window.launches_per_s, 1000.0);
  EXPECT_DOUBLE_EQ(window.over_s, 2.0);
  (void)look_for(120, {7});
  EXPECT_EQ(ordered_kind(7), Kind::Launches);
}

TEST_F(KernelWindowsTest, AreNotOpenedForAWorkloadWhoseKernelsAreKnown) {
  jobs_[0].wants_kernels = false;
  (void)look_for(6, {7});
  answer(7, State::Done, 2000);
  (void)look_for(50, {7});
  EXPECT_EQ(ordered_kind(7), Kind::Launches);
}

TEST_F(KernelWindowsTest, AreOpenedForOneJobOfAGpuAtATime) {
  (void)look_for(6, {7, 8});
  answer(7, State::Done, 2000);
  answer(8, State::Done, 2000);
  (void)look_for(5, {7, 8});
  EXPECT_EQ(ordered_kind(7), Kind::Kernels);
  EXPECT_EQ(ordered_kind(8), Kind::Launches);
  answer(7, State::Done, 2000, 0, kSome);
  (void)look_for(2, {7, 8});
  EXPECT_EQ(ordered_kind(8), Kind::Kernels);
}

TEST_F(KernelWindowsTest, AJobThatReportsStepsIsRecordedAfterAWhile) {
  double steps = 0.0;
  jobs_[0].counters = [&] {
    return std::vector<ProgressCounter>{
        {ProgressSource::Steps, [&](double now_s) -> std::optional<CountSeen> {
           steps += 10.0;
           return CountSeen{.count = steps, .at_s = now_s};
         }}};
  };
  (void)look_for(14, {7});
  EXPECT_EQ(ordered(7), 0U);
  (void)look_for(4, {7});
  EXPECT_EQ(ordered(7), 1U);
  EXPECT_EQ(ordered_kind(7), Kind::Kernels);
}

TEST_F(KernelWindowsTest, ARefusalIsToldAndFinal) {
  until_kernels(7);
  answer(7, State::Busy, 0);
  (void)look_for(3, {7});
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], "7, kernels: another profiler uses CUPTI in its process");
  const std::uint32_t last = ordered(7);
  for (int i = 0; i < 200; ++i) {
    (void)look({7});
    if (ordered(7) != last) {
      EXPECT_EQ(ordered_kind(7), Kind::Launches);
    }
  }
}

TEST_F(KernelWindowsTest, ABadWindowIsTakenAgainThreeTimesAtMost) {
  until_kernels(7);
  unsigned orders = 0;
  std::uint32_t last = 0;
  for (int i = 0; i < 600; ++i) {
    if (ordered(7) != last) {
      last = ordered(7);
      if (ordered_kind(7) == Kind::Kernels) {
        ++orders;
        answer_with_bad_kernels(7, orders);
      } else {
        answer(7, State::Done, 2000);
      }
    }
    (void)look({7});
  }
  EXPECT_EQ(orders, 3U);
  EXPECT_TRUE(windows_.empty());
}

TEST_F(KernelWindowsTest, AWindowInWhichTheGroupChangedIsNotUsedAndDoesNotHoldUpTheCount) {
  until_kernels(7);
  (void)look_for(7, {7, 8});
  EXPECT_EQ(ordered_kind(7), Kind::Kernels);  // its launches are counted next
  answer(7, State::Done, 2000, 0, kSome);
  (void)look({7, 8});
  EXPECT_TRUE(windows_.empty());
  EXPECT_EQ(ordered_kind(7), Kind::Launches);
}

}  // namespace
}  // namespace carpool::observe
