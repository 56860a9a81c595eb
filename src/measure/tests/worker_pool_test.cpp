#include "measure/worker_pool.hpp"

#include <fstream>
#include <optional>
#include <sstream>

#include "measure/tests/measuring_test.hpp"

namespace carpool::measure {
namespace {

std::string environment_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

bool has(const std::string& environment, const std::string& entry) {
  const std::string text = '\0' + environment;
  return text.find('\0' + entry + '\0') != std::string::npos;
}

using WorkerPoolTest = MeasuringTest;

TEST_F(WorkerPoolTest, WhoIsReadyStaysAndNothingIsLeftBehind) {
  const Member a = member("ms5-one");
  const Member b = member("ms5-two");
  pid_t first = 0;
  {
    WorkerPool pool(plan_, place());
    ASSERT_TRUE(pool.prepare({.members = {a, b}, .cells = {}}).has_value());
    first = pool.pid_of(a);
    EXPECT_EQ(why_not(pool, {a, b}), "");
    EXPECT_EQ(why_not(pool, {a}), "");
    EXPECT_EQ(pool.pid_of(a), first);
    EXPECT_TRUE(std::filesystem::exists(mps_folder()));
    ASSERT_TRUE(pool.prepare({.members = {a}, .cells = {}}).has_value());
    EXPECT_FALSE(pool.present(b));
    EXPECT_EQ(pool.pid_of(a), first);
  }
  EXPECT_TRUE(dead(first));
  EXPECT_FALSE(std::filesystem::exists(mps_folder()));
  EXPECT_TRUE(std::filesystem::is_empty(scratch()));
}

TEST_F(WorkerPoolTest, LimitsAreInTheWorkersEnvironment) {
  Member limited = member("ms5");
  limited.thread_percentage = 25.0;
  limited.low_priority = true;
  const Member plain = member("ms5");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {limited, plain}), "");
  const std::string with = environment_of(pool.pid_of(limited));
  EXPECT_TRUE(has(with, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25")) << with;
  EXPECT_TRUE(has(with, "CUDA_MPS_CLIENT_PRIORITY=1")) << with;
  const std::string without = environment_of(pool.pid_of(plain));
  EXPECT_EQ(without.find("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), std::string::npos);
}

TEST_F(WorkerPoolTest, WithoutMpsNoDaemonIsStartedOrFound) {
  const Member a = member("ms5", Mechanism::TimeSlicing);
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {a}), "");
  const std::string environment = environment_of(pool.pid_of(a));
  EXPECT_TRUE(has(environment, "CUDA_VISIBLE_DEVICES=GPU-fake-0"));
  EXPECT_TRUE(has(environment, "CUDA_MPS_PIPE_DIRECTORY=" + (scratch() / "no-mps").string()));
  EXPECT_FALSE(std::filesystem::exists(mps_folder()));
}

TEST_F(WorkerPoolTest, AWorkerThatNeverGetsReadyIsTriedTwice) {
  plan_.workers.start_seconds = 0.3;
  const Member mute = member("mute");
  const Member well = member("ms5");
  WorkerPool pool(plan_, place());
  EXPECT_EQ(why_not(pool, {mute}), "start-timeout");
  EXPECT_EQ(why_not(pool, {well, mute}), "start-timeout");
  const Stopwatch spent;
  EXPECT_EQ(why_not(pool, {mute}), "start-timeout");
  EXPECT_LT(spent.seconds(), 0.2);
  EXPECT_EQ(why_not(pool, {well}), "");
}

TEST_F(WorkerPoolTest, AProgramThatIsNotThereIsTheWorkloadsTrouble) {
  plan_.command = {"/nonexistent/program"};
  WorkerPool pool(plan_, place());
  const std::vector<Member> members = {member("a")};
  const auto ready = pool.acquire(members);
  ASSERT_TRUE(ready.has_value() && !ready->has_value());
  EXPECT_EQ(ready->error().reason, "crash");
  EXPECT_NE(ready->error().message.find("/nonexistent/program"), std::string::npos);
}

TEST_F(WorkerPoolTest, WithoutMpsProgramItIsOurTrouble) {
  ::setenv("CARPOOL_MPS_CONTROL", "/nonexistent/mps", 1);
  WorkerPool pool(plan_, place());
  const std::vector<Member> members = {member("a")};
  EXPECT_FALSE(pool.acquire(members).has_value());
  EXPECT_FALSE(pool.prepare({.members = members, .cells = {}}).has_value());
}

TEST_F(WorkerPoolTest, AskedToStopItDoesNotWaitForTheStart) {
  plan_.workers.end_seconds = 60.0;
  std::optional<Stopwatch> spent;
  {
    WorkerPool pool(plan_, place([] { return true; }));
    spent.emplace();
    EXPECT_EQ(why_not(pool, {member("mute")}), kStopped);
    EXPECT_EQ(why_not(pool, {member("mute"), member("die1")}), kStopped);
  }
  EXPECT_LT(spent->seconds(), 5.0);
}

TEST_F(WorkerPoolTest, WhoFindsNoMemoryGetsAnotherChanceWithoutTheOthers) {
  const Member greedy = member("ms5-crowded");
  const Member other = member("ms5");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {other}), "");
  EXPECT_EQ(why_not(pool, {greedy}), "");
  EXPECT_FALSE(pool.present(other));
}

TEST_F(WorkerPoolTest, AGroupThatDoesNotFitLeavesItsMembersTheirChances) {
  const Member greedy = member("ms5-crowded");
  const Member other = member("ms5");
  WorkerPool pool(plan_, place());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(why_not(pool, {other}), "");
    EXPECT_EQ(why_not(pool, {other, greedy}), kOutOfMemory);
  }
  EXPECT_EQ(why_not(pool, {greedy}), "");
}

TEST_F(WorkerPoolTest, WhoDiesWhileHeldIsNoticedBeforeTheNextWindow) {
  const Member a = member("ms5-diesheld");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {a}), "");
  const pid_t first = pool.pid_of(a);
  ASSERT_TRUE(dies_within(first, 10.0));
  ASSERT_EQ(why_not(pool, {a}), "");
  EXPECT_NE(pool.pid_of(a), first);
}

TEST_F(WorkerPoolTest, AFaultedServerLosesAllItsClientsAndIsServedAnew) {
  const Member culprit = member("ms5-fault2");
  const Member bystander = member("ms5");
  WorkerPool pool(plan_, place());
  const std::vector<Member> members = {culprit, bystander};
  const auto ready = pool.acquire(members);
  ASSERT_TRUE(ready.has_value() && ready->has_value());
  const pid_t before = pool.pid_of(bystander);
  (**ready)[0]->give(profile::StepOrder::Run);
  ASSERT_TRUE(dies_within(pool.pid_of(culprit), 10.0));
  EXPECT_EQ(why_not(pool, {bystander}), "");
  EXPECT_NE(pool.pid_of(bystander), before);
  EXPECT_TRUE(dead(before));
}

TEST_F(WorkerPoolTest, AWorkerThatDoesNotEndIsKilled) {
  const Member deaf = member("ms5-deaf2");
  WorkerPool pool(plan_, place());
  const std::vector<Member> members = {deaf};
  const auto ready = pool.acquire(members);
  ASSERT_TRUE(ready.has_value() && ready->has_value());
  const pid_t pid = pool.pid_of(deaf);
  (**ready)[0]->give(profile::StepOrder::Run);
  // Released once, it never reads an order again.
  while (!dead(pid) && (**ready)[0]->state() != profile::StepState::Running) {
    pause_for(std::chrono::milliseconds(2));
  }
  const Stopwatch spent;
  pool.drop(members);
  EXPECT_TRUE(dead(pid));
  EXPECT_LT(spent.seconds(), 3.0);
  EXPECT_FALSE(pool.present(deaf));
}

TEST_F(WorkerPoolTest, WorkloadsUnderStreamsLiveAndDieInOneProcess) {
  const Member a = member("ms5-one", Mechanism::Streams);
  const Member b = member("ms5-two", Mechanism::Streams);
  const Member dying = member("ms5-die2", Mechanism::Streams);
  WorkerPool pool(plan_, place());
  ASSERT_TRUE(pool.prepare({.members = {a, b, dying}, .cells = {}}).has_value());
  ASSERT_EQ(why_not(pool, {a, b}), "");
  const pid_t first = pool.pid_of(a);
  EXPECT_NE(first, pool.pid_of(b));  // by their step files

  const std::vector<Member> members = {dying};
  const auto ready = pool.acquire(members);
  ASSERT_TRUE(ready.has_value() && ready->has_value());
  (**ready)[0]->give(profile::StepOrder::Run);
  ASSERT_TRUE(dies_within(first, 10.0));
  ASSERT_EQ(why_not(pool, {a}), "");
  EXPECT_FALSE(pool.present(b));
  // One new process for both; the running one is not reused.
  const pid_t only_a = pool.pid_of(a);
  ASSERT_EQ(why_not(pool, {a, b}), "");
  EXPECT_NE(pool.pid_of(a), only_a);
}

}  // namespace
}  // namespace carpool::measure
