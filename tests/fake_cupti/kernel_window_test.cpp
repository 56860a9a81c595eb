// libcarpool_profile.so in a job of the server: records kernels in one window, and lets CUPTI go.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "window_fixture.hpp"

namespace carpool {
namespace {

using gpu::WindowAnswers;
using gpu::window_format::Kind;
using gpu::window_format::State;

class KernelWindowTest : public WindowedProgram {
 protected:
  ChildProcess job(const std::vector<std::string>& arguments, const Variables& more = {}) {
    Variables own = more;
    own.try_emplace("FAKE_CUPTI_VERSION", "130001");
    own.try_emplace("FAKE_CUPTI_LOG", log().string());
    return begin(arguments, own);
  }
  [[nodiscard]] std::filesystem::path log() const { return folder_ / "log"; }
  [[nodiscard]] std::string calls() const { return read_file(log()).value_or(""); }

  // A busy machine may spoil some.
  WindowAnswers kernels_of(unsigned length_ms) {
    WindowAnswers answer;
    EXPECT_TRUE(comes_true([&] {
      answer = answered(length_ms, Kind::Kernels);
      return answer.spoiled == 0;
    }));
    return answer;
  }
};

TEST_F(KernelWindowTest, SummarisesTheKernelsOfAWindow) {
  ChildProcess child = job({"--steps", "0", "--kernels", "10", "--step-ms", "5", "--grid", "33"});
  const WindowAnswers answer = kernels_of(400);
  ASSERT_TRUE(answer.kernels.has_value());
  // Kernels take nine tenths of four fifths of a step of 5 ms; 33 of 132 SMs hold a block.
  EXPECT_GT(answer.kernels->kernels, 200U);
  EXPECT_NEAR(answer.kernels->busy, 0.72, 0.12);
  EXPECT_NEAR(answer.kernels->fill, 0.25, 1e-3);
  EXPECT_NEAR(answer.kernels->active, 0.25 * answer.kernels->busy, 0.01);
  EXPECT_NEAR(answer.kernels->mean_us, 360.0, 1.0);
  EXPECT_NEAR(answer.kernels->p90_us, 360.0, 80.0);
  EXPECT_GT(answer.kernels->launches_per_s, 500.0);
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, LetsCuptiGoAtTheEndOfACallAndChangesNothingThatStays) {
  ChildProcess child = job({"--steps", "0"});
  ASSERT_TRUE(kernels_of(100).kernels.has_value());
  const std::string said = calls();
  const std::string end = "disable 10\nunsubscribe\nfinalize at exit\n";
  EXPECT_EQ(said.substr(said.size() - std::min(said.size(), end.size())), end);
  EXPECT_EQ(said.find("clock"), kNpos);
  EXPECT_EQ(said.find("attribute"), kNpos);
  // Windows that follow attach again.
  EXPECT_TRUE(comes_true([&] { return answered(100).launches > 0; }));
  EXPECT_TRUE(comes_true([&] { return kernels_of(100).kernels.has_value(); }));
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, UnsubscribesWhereNoCallEndsOrDetachingIsOff) {
  {
    // No call reaches the subscription.
    ChildProcess child = job({"--steps", "0"}, {{"FAKE_CUPTI_DEAF", "100"}});
    EXPECT_EQ(kernels_of(100).launches, 0U);
    EXPECT_EQ(calls().find("finalize"), kNpos);
    EXPECT_TRUE(calls().ends_with("disable 10\nunsubscribe\n")) << calls();
    child.end(std::chrono::seconds(5));
  }
  ChildProcess child = job({"--steps", "0"}, {{"CARPOOL_WINDOW_DETACH", "0"}});
  ASSERT_TRUE(kernels_of(100).kernels.has_value());
  EXPECT_EQ(calls().find("finalize"), kNpos);
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, ALaterProfilerOfTheProgramGetsItsRecordsAndIsLeftAlone) {
  const std::filesystem::path asks = folder_ / "asks";
  ChildProcess child = job({"--steps", "0", "--step-ms", "5", "--profile", asks.string()});
  ASSERT_TRUE(kernels_of(100).kernels.has_value());
  ASSERT_TRUE(write_file(asks, "").has_value());
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(asks.string() + ".records"); }));
  const std::string before = calls();
  const WindowAnswers busy = answered(100, Kind::Kernels);
  EXPECT_EQ(busy.refusal, State::Busy);
  EXPECT_FALSE(busy.kernels.has_value());
  EXPECT_EQ(calls(), before);  // it has touched nothing
  EXPECT_FALSE(child.poll().has_value());
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, ARefusalOfRecordsSaysWhoseFaultItIs) {
  {
    ChildProcess child = job({"--steps", "0"}, {{"FAKE_CUPTI_REFUSE", "14"}});
    const WindowAnswers busy = kernels_of(50);
    EXPECT_EQ(busy.refusal, State::Busy);
    EXPECT_EQ(busy.code, 14);
    // Another tool would lose its buffers and its state.
    EXPECT_EQ(calls().find("register"), kNpos);
    EXPECT_EQ(calls().find("finalize"), kNpos);
    child.end(std::chrono::seconds(5));
  }
  ChildProcess child = job({"--steps", "0"}, {{"FAKE_CUPTI_REFUSE", "35"}});
  EXPECT_EQ(kernels_of(50).refusal, State::Refused);
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, IsRefusedByReleasesOfCuptiThatAreNotSafe) {
  // 12.5 does not detach reliably, 13.0 may hang, 13.3 serves several tools.
  for (const char* version : {"23", "130000", "130300"}) {
    ChildProcess child = job({"--steps", "0"}, {{"FAKE_CUPTI_VERSION", version}});
    EXPECT_EQ(kernels_of(50).refusal, State::Refused) << version;
    EXPECT_TRUE(comes_true([&] { return answered(100).launches > 0; })) << version;
    child.end(std::chrono::seconds(5));
  }
  EXPECT_EQ(calls().find("enable"), kNpos);
}

// Their programs may end by it.
TEST_F(KernelWindowTest, GraphsAreNotRecordedAndCuptiStaysWhereOneWasLaunched) {
  ChildProcess child = job({"--steps", "0", "--graph"});
  EXPECT_EQ(kernels_of(100).refusal, State::Unseen);
  EXPECT_EQ(calls().find("enable 10"), kNpos) << calls();
  EXPECT_EQ(calls().find("finalize"), kNpos);
  child.end(std::chrono::seconds(5));
}

TEST_F(KernelWindowTest, DoesNotDelayTheEndOfTheProgram) {
  ChildProcess child = job({"--steps", "300", "--step-ms", "5", "--exit", "3"});
  const std::uint32_t window = order(10'000, Kind::Kernels);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 1; }));
  std::optional<ExitStatus> end;
  ASSERT_TRUE(comes_true([&] { return (end = child.poll()).has_value(); }));
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(answers(window).spoiled, 1U);
}

TEST_F(KernelWindowTest, AProgramThatForksMeanwhileIsUnharmed) {
  ChildProcess child = job({"--steps", "400", "--step-ms", "5", "--fork-at", "150"});
  const std::uint32_t window = order(3000, Kind::Kernels);
  ASSERT_TRUE(comes_true([&] { return answers(window).open == 1; }));
  std::optional<ExitStatus> end;
  ASSERT_TRUE(comes_true([&] { return (end = child.poll()).has_value(); }));
  EXPECT_EQ(end->code, 0);
}

}  // namespace
}  // namespace carpool
