// libcarpool_profile.so in a job of the server: counts launches in windows, and does nothing else.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "gpu/cupti/injection.hpp"
#include "gpu/cupti/window_file.hpp"
#include "window_fixture.hpp"

namespace carpool {
namespace {

using gpu::WindowAnswers;
using gpu::WindowFile;
using gpu::window_format::State;

using LaunchWindow = WindowedProgram;

TEST_F(LaunchWindow, CountsLaunchesAndLoadsCuptiOnlyThen) {
  ChildProcess child = begin({"--steps", "0", "--kernels", "10", "--step-ms", "5"});
  EXPECT_EQ(maps_of(child.pid()).find("libcupti"), kNpos);
  // A busy machine may stop the program in the middle of a step, and a window may end there.
  int whole_steps = 0;
  for (int i = 0; i < 5; ++i) {
    const WindowAnswers counted = answered(200);
    EXPECT_EQ(counted.done, 1U);
    EXPECT_GT(counted.over_s, 0.09);
    EXPECT_GT(counted.launches, 20U);
    whole_steps += counted.launches % 10 == 0 ? 1 : 0;
    EXPECT_NEAR(counted.per_s, static_cast<double>(counted.launches) / counted.over_s, 1.0);
  }
  EXPECT_GE(whole_steps, 3);  // of five: one in ten would be by chance
  EXPECT_NE(maps_of(child.pid()).find("libcupti"), kNpos);
  child.end(std::chrono::seconds(5));
}

TEST_F(LaunchWindow, LeavesCuptiToTheProgramsOwnProfiler) {
  const auto at_step = std::to_string(400);
  ChildProcess child = begin({"--steps", "0", "--step-ms", "5", "--subscribe", at_step});
  EXPECT_EQ(answered(100).done, 1U);
  // From step 400 on the program is subscribed; it would have ended if it had been refused.
  ASSERT_TRUE(comes_true([&] { return answered(20).refusal == State::Busy; }));
  EXPECT_FALSE(child.poll().has_value());
  child.end(std::chrono::seconds(5));
}

// CUPTI keeps data of each thread that called it, and must not release it while it is torn down.
TEST_F(LaunchWindow, TheThreadOfTheLibraryDoesNotEndWhileTheProcessExits) {
  ChildProcess child = begin({"--steps", "200", "--step-ms", "5"}, {{"FAKE_CUPTI_EXIT_MS", "300"}});
  EXPECT_EQ(answered(50).done, 1U);
  std::optional<ExitStatus> end;
  ASSERT_TRUE(comes_true([&] { return (end = child.poll()).has_value(); }));
  EXPECT_EQ(end->code, 0);
}

// On a busy machine CUPTI takes seconds to begin.
TEST_F(LaunchWindow, TheProcessExitsAfterACallOfCuptiThatIsUnderWay) {
  ChildProcess child = begin({"--steps", "200", "--step-ms", "5"},
                             {{"FAKE_CUPTI_SUBSCRIBE_MS", "4000"}, {"FAKE_CUPTI_EXIT_MS", "2000"}});
  const std::uint32_t window = order(50);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 1; }));
  std::optional<ExitStatus> end;
  ASSERT_TRUE(comes_true([&] { return (end = child.poll()).has_value(); }));
  EXPECT_EQ(end->code, 0);
}

TEST_F(LaunchWindow, SaysWhyNothingIsCounted) {
  {
    ChildProcess child = begin({"--steps", "0"}, {{"FAKE_CUPTI_SUBSCRIBED", "1"}});
    const WindowAnswers busy = answered(50);
    EXPECT_EQ(busy.refusal, State::Busy);
    EXPECT_EQ(busy.code, 39);
    EXPECT_EQ(busy.done, 0U);
    child.end(std::chrono::seconds(5));
  }
  for (const Variables& more : {Variables{{"CARPOOL_CUPTI_LIBRARY", FAKE_CUPTI_BROKEN}},
                                Variables{{"CARPOOL_CUPTI_LIBRARY", "/nowhere/libcupti.so.13"}},
                                Variables{{"FAKE_CUPTI_VERSION", "18"}}}) {
    ChildProcess child = begin({"--steps", "0"}, more);
    EXPECT_EQ(answered(50).refusal, State::NoCupti);
    child.end(std::chrono::seconds(5));
  }
}

TEST_F(LaunchWindow, SubscribesAgainWhereNoCallArrives) {
  ChildProcess child = begin({"--steps", "0"}, {{"FAKE_CUPTI_DEAF", "2"}});
  EXPECT_GT(answered(150).launches, 0U);
  child.end(std::chrono::seconds(5));
}

// Subscribing again does not end the patience with a program that launches in rare bursts.
TEST_F(LaunchWindow, CountsAProgramThatLaunchesSeldom) {
  ChildProcess child = begin({"--steps", "0", "--step-ms", "700"});
  for (int i = 0; i < 4; ++i) {
    const WindowAnswers counted = answered(300);
    if (counted.spoiled == 0) {  // by a busy machine
      EXPECT_GT(counted.launches, 0U);
    }
  }
  child.end(std::chrono::seconds(5));
}

TEST_F(LaunchWindow, AProgramThatLaunchesNothingIsCountedAsThat) {
  ChildProcess child = begin({"--steps", "0"}, {{"FAKE_CUPTI_DEAF", "100"}});
  const WindowAnswers nothing = answered(150);
  EXPECT_EQ(nothing.done, 1U);
  EXPECT_EQ(nothing.launches, 0U);
  child.end(std::chrono::seconds(5));
}

TEST_F(LaunchWindow, DoesNotDelayTheEndOfTheProgram) {
  ChildProcess child = begin({"--steps", "400", "--step-ms", "5", "--exit", "3"});
  const std::uint32_t window = order(10'000);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 1; }));
  std::optional<ExitStatus> end;
  ASSERT_TRUE(comes_true([&] { return (end = child.poll()).has_value(); }));
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(answers(window).spoiled, 1U);
}

TEST_F(LaunchWindow, AStoppedProcessSpoilsItsWindow) {
  ChildProcess child = begin({"--steps", "0"});
  const std::uint32_t window = order(1000);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 1; }));
  pause_for(std::chrono::milliseconds(200));  // until it listens: before, it would begin later
  ::kill(child.pid(), SIGSTOP);
  pause_for(std::chrono::milliseconds(1900));
  ::kill(child.pid(), SIGCONT);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 0; }));
  EXPECT_EQ(answers(window).spoiled, 1U);
  // One of the next is whole: a busy machine may spoil some.
  EXPECT_TRUE(comes_true([&] { return answered(100).done == 1U; }));
  child.end(std::chrono::seconds(5));
}

TEST_F(LaunchWindow, ProgramsThatForkOrUseNoGpuAreUnharmed) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--steps", "2", "--fork"},
        {"--steps", "2", "--child"},
        {"--steps", "1", "--no-gpu"},
        {"--steps", "0", "--crash", "1"}}) {
    const auto done = run_command(watched(arguments, without_leak_check()), "", kPatience);
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->err, "");
    const bool crashes = arguments.back() == "1" && arguments.size() == 4;
    EXPECT_EQ(done->status.signal.value_or(0), crashes ? SIGSEGV : 0);
  }
}

TEST_F(LaunchWindow, AFileThatIsGoneOrForeignLeavesTheLibraryInert) {
  ASSERT_TRUE(write_file(folder_ / "other", std::string(8192, 'x')).has_value());
  for (const char* name : {"missing", "other"}) {
    const Variables elsewhere{{"CARPOOL_WINDOW_FILE", folder_ / name}};
    const auto done = run_command(watched({"--steps", "2"}, elsewhere), "", kPatience);
    ASSERT_TRUE(done.has_value());
    EXPECT_TRUE(done->status.ok());
    EXPECT_EQ(done->err, "");
  }
}

TEST_F(LaunchWindow, AUserWhoCutsTheFileDoesNotHarmTheServer) {
  std::filesystem::resize_file(path(), 10);
  EXPECT_FALSE(file_->answers(1).has_value());
  EXPECT_FALSE(file_->order(100, 0).has_value());
  std::filesystem::remove(path());
  std::filesystem::create_symlink(folder_ / "other", path());
  EXPECT_FALSE(WindowFile::open(path()).has_value());
}

TEST_F(LaunchWindow, AProgramThatIsProfiledIsNotCounted) {
  Command command = watched({"--steps", "2", "--kernels", "4"});
  for (const auto& [name, value] : gpu::injection_environment(PROFILE_LIBRARY, folder_, options_)) {
    command.environment[name] = value;
  }
  ASSERT_TRUE(run_command(command, "", kPatience).has_value());
  const auto all = traces();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].launches.size(), 8U);
}

TEST(WindowEnvironment, LeavesTheLibraryThatAJobNamesInItsPlace) {
  EXPECT_EQ(gpu::window_environment("l", "f", {}).at("CUDA_INJECTION64_PATH"), "l");
  EXPECT_TRUE(gpu::window_environment("l", "f", {{"CUDA_INJECTION64_PATH", "x"}}).empty());
  EXPECT_TRUE(gpu::window_environment("l", "f", {{"NVTX_INJECTION64_PATH", "x"}}).empty());
}

}  // namespace
}  // namespace carpool
