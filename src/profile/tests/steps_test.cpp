#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "profile/reduce.hpp"
#include "profile/steps/launch_steps.hpp"
#include "profile/steps/output_steps.hpp"
#include "profile/tests/made_trace.hpp"
#include "profile/watch/startup.hpp"

namespace carpool::profile {
namespace {

constexpr std::int64_t kOneSecond = 1'000'000'000;
using Stream = OutputSteps::Stream;

OutputSteps expression(const std::string& text) {
  auto made = OutputSteps::make(text);
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

TEST(OutputSteps, CountsTheLinesThatAreFound) {
  OutputSteps steps = expression("^loss");
  steps.add(Stream::Output, "epoch 1\nloss 0.5\nlo", 1 * kOneSecond);
  steps.add(Stream::Error, "loss of nothing\r", 1 * kOneSecond);
  steps.add(Stream::Output, "ss 0.4\nloss 0.3\n", 3 * kOneSecond);
  const auto found = steps.within({0, 10 * kOneSecond});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, kFromOutput);
  EXPECT_DOUBLE_EQ(found->steps_per_second, 1.0);  // two more lines in two seconds
}

TEST(OutputSteps, AGroupIsTheNumberOfTheStep) {
  OutputSteps steps = expression("step (\\d+)");
  steps.add(Stream::Output, "step 100\n", 1 * kOneSecond);
  steps.add(Stream::Output, "step 110\nstep 120\n", 3 * kOneSecond);
  const auto found = steps.within({0, 10 * kOneSecond});
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->steps_per_second, 10.0);
  EXPECT_DOUBLE_EQ(found->p50_seconds, 0.1);
}

TEST(OutputSteps, ANewEpochBeginsToCountAgain) {
  OutputSteps steps = expression("step (\\d+)");
  steps.add(Stream::Output, "step 900\n", 1 * kOneSecond);
  steps.add(Stream::Output, "step 1\n", 2 * kOneSecond);
  steps.add(Stream::Output, "step 5\n", 4 * kOneSecond);
  EXPECT_DOUBLE_EQ(steps.within({0, 10 * kOneSecond})->steps_per_second, 2.0);
}

TEST(OutputSteps, LongLinesAndOddBytesDoNoHarm) {
  OutputSteps steps = expression("(a+)+b|step (\\d+)");
  steps.add(Stream::Output, std::string(100'000, 'x'), kOneSecond);
  steps.add(Stream::Output, std::string("\nstep \xff\0 7\n", 11), kOneSecond);
  EXPECT_FALSE(steps.within({0, 10 * kOneSecond}).has_value());
  EXPECT_FALSE(OutputSteps::make("step (").has_value());
}

TEST(StepEstimates, TheMostTrustedSourceIsUsed) {
  WorkloadProfile profile;
  const std::vector<StepEstimate> told = {
      StepEstimate{.source = std::string(kFromLaunches), .steps_per_second = 3.0},
      StepEstimate{
          .source = std::string(kFromStepFile), .steps_per_second = 4.0, .units_per_step = 8.0}};
  set_throughput(told, profile);
  ASSERT_TRUE(profile.throughput.has_value());
  EXPECT_EQ(profile.throughput->source, kFromStepFile);
  EXPECT_EQ(profile.throughput->value, 32.0);
  EXPECT_EQ(profile.throughput->unit, "units/s");
  EXPECT_EQ(profile.steps.size(), 2U);
}

TEST(StepEstimates, AVagueGuessIsToldButNotUsed) {
  WorkloadProfile profile;
  const std::vector<StepEstimate> guess = {StepEstimate{
      .source = std::string(kFromLaunches), .steps_per_second = 3.0, .confidence = 0.1}};
  set_throughput(guess, profile);
  EXPECT_FALSE(profile.throughput.has_value());
  EXPECT_EQ(profile.steps.size(), 1U);
  EXPECT_EQ(profile.notes.size(), 1U);
}

TEST(StepEstimates, RangesOfOtherNamesAreNoSteps) {
  gpu::ActivityTrace trace;
  for (std::int64_t i = 0; i < 5; ++i) {
    trace.ranges.push_back({"step", i * kOneSecond, i * kOneSecond + 1, 1});
    trace.ranges.push_back({"forward", i * kOneSecond + 10, i * kOneSecond + 20, 1});
  }
  const auto found = steps_by_ranges({&trace, 1}, "step", {0, 10 * kOneSecond});
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->steps_per_second, 1.0);
  EXPECT_FALSE(steps_by_ranges({&trace, 1}, "nothing", {0, 10 * kOneSecond}).has_value());
}

TEST(LaunchSteps, GridsThatChangeWithEveryStepAreComparedByName) {
  gpu::ActivityTrace trace = small_gpu_trace();
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto blocks = static_cast<std::uint32_t>(100 + step);
    for (std::int64_t kernel = 0; kernel < 30; ++kernel) {
      const auto id = add_kernel(trace, "kernel" + std::to_string(kernel), blocks, 128);
      add_launch(trace, id, (step * 40 + kernel) * kMillisecond, kMillisecond / 2);
    }
  }
  const auto found = find_launch_steps({&trace, 1}, {0, kOneSecond});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 30.0);
  EXPECT_NEAR(found.front().seconds, 0.040, 1e-9);
}

TEST(LaunchSteps, TheBusierOfTwoProcessesAndCopiesCount) {
  std::vector<gpu::ActivityTrace> traces = {small_gpu_trace(), small_gpu_trace()};
  const auto idle = add_kernel(traces[0], "idle", 1, 32);
  add_launch(traces[0], idle, 0, kMillisecond);
  const auto kernel = add_kernel(traces[1], "kernel", 1, 32);
  for (std::int64_t step = 0; step < 50; ++step) {
    for (std::int64_t i = 0; i < 9; ++i) {
      add_launch(traces[1], kernel, (step * 10 + i) * kMillisecond, kMillisecond);
    }
    gpu::activity_format::MemoryOperation copy;
    copy.start_ns = (step * 10 + 9) * kMillisecond;
    copy.duration_ns = kMillisecond;
    copy.bytes = 4096;
    traces[1].memory_operations.push_back(copy);
  }
  const auto found = find_launch_steps(traces, {0, kOneSecond});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 10.0);
}

// Looks every 100 ms of simulated time.
class StartupTest : public testing::Test {
 protected:
  bool goes_on(double seconds, std::uint64_t launches_each, double utilisation = 0.0) {
    bool ready = false;
    for (int i = 0; i < static_cast<int>(seconds * 10); ++i) {
      now_ += kOneSecond / 10;
      signs_.launches += launches_each;
      signs_.gpu_utilisation = utilisation;
      ready = watch_.look(now_, signs_);
    }
    return ready;
  }
  StartupWatch watch_;
  ProgramSigns signs_;
  std::int64_t now_ = kOneSecond;
};

TEST_F(StartupTest, AProgramThatLaunchesWithoutBreaksHasStarted) {
  EXPECT_FALSE(goes_on(20.0, 0));
  EXPECT_FALSE(watch_.saw_work());
  EXPECT_FALSE(goes_on(0.9, 5));
  EXPECT_TRUE(goes_on(1.5, 5));
}

TEST_F(StartupTest, AFewLaunchesAreNoWork) {
  EXPECT_FALSE(goes_on(0.4, 5));
  EXPECT_TRUE(watch_.saw_work());
  EXPECT_FALSE(goes_on(5.0, 0));
}

TEST_F(StartupTest, WithoutRecordingTheGpusUtilisationCounts) {
  EXPECT_FALSE(goes_on(3.0, 0, 0.0));
  EXPECT_TRUE(goes_on(2.0, 0, 0.5));
}

TEST_F(StartupTest, AProgramThatTellsStepsHasStartedAfterTwo) {
  signs_.reports_steps = true;
  EXPECT_FALSE(goes_on(5.0, 5));
  signs_.steps = 2;
  EXPECT_TRUE(goes_on(0.1, 5));
}

TEST_F(StartupTest, BurstsWillDoAfterAWhile) {
  bool ready = false;
  for (int i = 0; i < 8 && !ready; ++i) {
    ready = goes_on(0.3, 5) || goes_on(0.9, 0);
  }
  EXPECT_TRUE(ready);
}

}  // namespace
}  // namespace carpool::profile
