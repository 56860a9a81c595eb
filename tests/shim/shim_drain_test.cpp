// SIGTERM and SIGINT of processes with libcarpool_cuda.so under MPS.
#include <csignal>

#include "shim_processes.hpp"

namespace carpool::shim_test {
namespace {

class ShimDrain : public ShimProcesses {
 protected:
  [[nodiscard]] static Environment mps() { return {{"CARPOOL_SHIM_MPS", "1"}}; }

  [[nodiscard]] bool exists(const char* name) const {
    return std::filesystem::exists(folder_ / name);
  }

  // Bit of a line of /proc/PID/status: "SigCgt", the signals that have a handler.
  [[nodiscard]] static bool handles(pid_t pid, int signal) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("SigCgt:")) {
        return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1U) != 0;
      }
    }
    return false;
  }

  [[nodiscard]] static bool has_parked_thread(pid_t pid) {
    std::error_code problem;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, problem)) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
      if (name == "carpool-drain") {
        return true;
      }
    }
    return false;
  }

  // How a program ends that gets the signal when it is ready.
  [[nodiscard]] ExitStatus end_of(const std::vector<std::string>& arguments,
                                  const Environment& more,
                                  int signal) {
    clear_files();
    ChildProcess child = start(arguments, more);
    EXPECT_TRUE(wait_for("READY"));
    EXPECT_EQ(::kill(child.pid(), signal), 0);
    return child.wait_for(kPatience).value_or(ExitStatus{});
  }
};

TEST_F(ShimDrain, WorkInFlightIsDoneBeforeTheProcessDiesByTheSignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const ExitStatus status = end_of({"lookup", "drain", "400"}, mps(), signal);
    EXPECT_EQ(status.signal, signal) << status.text();
    EXPECT_TRUE(exists("DONE"));
  }
}

TEST_F(ShimDrain, AHungGpuDelaysDeathByTwoSeconds) {
  clear_files();
  ChildProcess child = start({"lookup", "drain", "1000000"}, mps());
  ASSERT_TRUE(wait_for("READY"));
  const Stopwatch watch;
  ASSERT_EQ(::kill(child.pid(), SIGTERM), 0);
  const ExitStatus status = child.wait_for(kPatience).value_or(ExitStatus{});
  EXPECT_EQ(status.signal, SIGTERM) << status.text();
  EXPECT_GE(watch.seconds(), 1.9);
}

TEST_F(ShimDrain, ASecondSignalKillsAtOnce) {
  clear_files();
  ChildProcess child = start({"lookup", "drain", "1000000"}, mps());
  ASSERT_TRUE(wait_for("READY"));
  const Stopwatch watch;
  ASSERT_EQ(::kill(child.pid(), SIGTERM), 0);
  pause_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(child.poll().has_value());
  ASSERT_EQ(::kill(child.pid(), SIGINT), 0);
  const ExitStatus status = child.wait_for(kPatience).value_or(ExitStatus{});
  EXPECT_EQ(status.signal, SIGINT) << status.text();
  EXPECT_LT(watch.seconds(), 1.9);
}

// As `timeout` does, which asks the process and then its group.
TEST_F(ShimDrain, OneRequestMayComeAsSeveralSignals) {
  clear_files();
  ChildProcess child = start({"lookup", "drain", "400"}, mps());
  ASSERT_TRUE(wait_for("READY"));
  ASSERT_EQ(::kill(child.pid(), SIGTERM), 0);
  pause_for(std::chrono::milliseconds(5));
  ASSERT_EQ(::kill(child.pid(), SIGTERM), 0);
  const ExitStatus status = child.wait_for(kPatience).value_or(ExitStatus{});
  EXPECT_EQ(status.signal, SIGTERM) << status.text();
  EXPECT_TRUE(exists("DONE"));
}

TEST_F(ShimDrain, CapturesAreNotBroken) {
  const ExitStatus status = end_of({"lookup", "drain-captures", "400"}, mps(), SIGTERM);
  EXPECT_EQ(status.signal, SIGTERM) << status.text();
  EXPECT_TRUE(exists("DONE"));
  EXPECT_FALSE(exists("BROKEN"));
}

TEST_F(ShimDrain, HandlersOfTheProgramAreLeftAlone) {
  for (const char* when : {"SHIM_TEST_EARLY_SIGNALS", "SHIM_TEST_LATE_SIGNALS"}) {
    Environment more = mps();
    more[when] = "handle";
    const ExitStatus status = end_of({"lookup", "drain", "1000000"}, more, SIGTERM);
    EXPECT_EQ(status.code, 7) << when << ": " << status.text();
  }
}

TEST_F(ShimDrain, AnIgnoredSignalStaysIgnored) {
  Environment more = mps();
  more["SHIM_TEST_EARLY_SIGNALS"] = "ignore";
  ChildProcess child = start({"lookup", "drain", "1"}, more);
  ASSERT_TRUE(wait_for("READY"));
  EXPECT_FALSE(handles(child.pid(), SIGTERM));
  EXPECT_FALSE(handles(child.pid(), SIGINT));
  ASSERT_EQ(::kill(child.pid(), SIGKILL), 0);
}

TEST_F(ShimDrain, NothingIsTakenOverWithoutMpsOrWithoutTheLibrary) {
  for (const Environment& more :
       {Environment{}, Environment{{"CARPOOL_SHIM_MPS", "1"}, {"CARPOOL_SHIM", "off"}}, mps()}) {
    clear_files();
    ChildProcess child = start({"lookup", "drain", "1000000"}, more);
    ASSERT_TRUE(wait_for("READY"));
    const bool expected = more == mps();
    EXPECT_EQ(handles(child.pid(), SIGTERM), expected);
    if (expected) {
      EXPECT_TRUE(eventually([&] { return has_parked_thread(child.pid()); }));  // has its name
    } else {
      EXPECT_FALSE(has_parked_thread(child.pid()));
    }
    ASSERT_EQ(::kill(child.pid(), SIGKILL), 0);
  }
}

TEST_F(ShimDrain, NothingIsTakenOverBeforeThereIsAContext) {
  Environment more = mps();
  more["SHIM_TEST_EARLY"] = "1";
  EXPECT_EQ(run({"lookup", "start"}, more).at("early_handler"), 0U);
}

TEST_F(ShimDrain, ChildrenOfAForkDieAtOnce) {
  const Values seen = run({"lookup", "drain-fork"}, mps());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("forked"), static_cast<std::uint64_t>(SIGTERM));
  EXPECT_EQ(seen.at("cloned"), static_cast<std::uint64_t>(SIGTERM));
}

}  // namespace
}  // namespace carpool::shim_test
