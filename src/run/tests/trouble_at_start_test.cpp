// Trouble of the machine at the start of a job is told from failures of the job, and nothing is
// concluded from what cannot be seen.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

class TroubleAtStart : public testing::Test {
 protected:
  RunExit outcome(const LaunchSpec& launch) {
    const auto launched = bench_.executor().launch(launch);
    if (!launched) {
      return launched.error();
    }
    const auto exit = bench_.end_of(launch.run);
    EXPECT_TRUE(exit) << "no end of " << launch.run.job << " is reported";
    return exit.value_or(RunExit{.end = RunEnd::Lost});
  }

  void expect_trouble(const LaunchSpec& launch, TroubleScope scope, const std::string& detail) {
    const RunExit exit = outcome(launch);
    EXPECT_EQ(exit.end, RunEnd::MachineTrouble) << exit.detail;
    EXPECT_EQ(exit.scope, scope) << exit.detail;
    EXPECT_NE(exit.detail.find(detail), std::string::npos) << exit.detail;
    EXPECT_GT(exit.at_s, 0.0);
  }

  // Between the claim and the first process of a job is half a second.
  void use_slow_mps() const {
    const std::string control = bench_.script(
        "nvidia-cuda-mps-control",
        fmt::format("FAKE_MPS_START_MS=500 exec {} \"$@\"", CARPOOL_FAKE_MPS_CONTROL));
    ::setenv("CARPOOL_MPS_CONTROL", control.c_str(), 1);
  }

  void expect_success(JobId job) {
    const RunExit exit = outcome(bench_.short_job({job, 1}));
    EXPECT_EQ(exit.end, RunEnd::Succeeded) << exit.detail;
  }

  ProcessBench bench_;
  const std::filesystem::path& root_ = bench_.root();
};

// As many descriptors as are open now, and `more`.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Descriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next.get()) + more;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// A file system of 64 KiB that fills up.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path at) : at_(std::move(at)) {
    std::filesystem::create_directories(at_);
    mounted_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) {
      ::umount2(at_.c_str(), MNT_DETACH);
    }
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  void fill() const {
    std::ofstream file(at_ / "filler");
    while (file << std::string(4096, 'x') << std::flush) {
    }
  }
  void free() const { std::filesystem::remove(at_ / "filler"); }

 private:
  std::filesystem::path at_;
  bool mounted_ = false;
};

TEST_F(TroubleAtStart, WithoutDescriptorsNoJobFails) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs a descriptor to look at an object";
#endif
  JobId job = 1;
  for (rlim_t more = 0; more < 12; ++more, ++job) {
    const LaunchSpec launch = bench_.short_job({job, 1});
    std::optional<RunExit> exit;
    {
      const FewDescriptors few(more);
      if (const auto launched = bench_.executor().launch(launch); !launched) {
        exit = launched.error();
      } else {
        // The attempt may begin and end while nothing can be opened.
        exit = bench_.end_of(launch.run, ProcessBench::kShortWhileMs);
      }
    }
    if (!exit) {
      exit = bench_.end_of(launch.run);
    }
    ASSERT_TRUE(exit) << more;
    EXPECT_TRUE(exit->end == RunEnd::Succeeded || exit->end == RunEnd::MachineTrouble)
        << more << " more descriptors: " << exit->detail;
  }
  expect_success(job);
}

TEST_F(TroubleAtStart, ASupervisorWithoutDescriptorsIsTroubleOfTheMachine) {
  bool any_trouble = false;
  for (JobId descriptors = 4; descriptors < 12; ++descriptors) {
    bench_.open_with(bench_.script(
        "few",
        fmt::format("ulimit -n {}; exec {} \"$@\"", descriptors, CARPOOL_SUPERVISOR_PROGRAM)));
    const RunExit exit = outcome(bench_.short_job({descriptors, 1}));
    EXPECT_TRUE(exit.end == RunEnd::Succeeded || exit.end == RunEnd::MachineTrouble)
        << descriptors << " descriptors: " << exit.detail;
    any_trouble = any_trouble || exit.scope == TroubleScope::Machine;
  }
  EXPECT_TRUE(any_trouble);
}

TEST_F(TroubleAtStart, OnAFullDiskAJobIsNeitherFailedNorBegunLater) {
  const SmallDisk disk(root_ / "runs");
  if (!disk.mounted()) {
    GTEST_SKIP() << "needs the right to mount";
  }
  disk.fill();
  expect_trouble(bench_.short_job({1, 1}), TroubleScope::Machine, "No space left");
  // A supervisor that was killed without a word: nothing is known until the claim can be written.
  bench_.open_with(bench_.script("killed", "kill -9 $$"));
  ASSERT_TRUE(bench_.executor().launch(bench_.short_job({2, 1})));
  ProcessBench::await([&] { return bench_.wait(); });
  EXPECT_TRUE(bench_.executor().take_reports().empty());
  EXPECT_FALSE(bench_.executor().find(bench_.short_job({3, 1}))) << "nothing can be concluded";
  disk.free();
  const auto exit = bench_.end_of({2, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::MachineTrouble);
  EXPECT_EQ(exit->scope, TroubleScope::Job);
  bench_.restart();
  EXPECT_FALSE(bench_.executor().launch(bench_.short_job({2, 1}))) << "it was given up";
  expect_success(4);
}

TEST_F(TroubleAtStart, AJobThatEndsOnAFullDiskIsReportedWhenThereIsSpaceAgain) {
  const SmallDisk disk(root_ / "runs");
  if (!disk.mounted()) {
    GTEST_SKIP() << "needs the right to mount";
  }
  ASSERT_TRUE(bench_.executor().launch(bench_.spec(
      {"sh", "-c", "touch began; while [ ! -e go ]; do sleep 0.01; done; exit 4"}, {1, 1})));
  ProcessBench::await_file(root_ / "began");
  disk.fill();
  std::ofstream(root_ / "go").put('x');
  EXPECT_FALSE(bench_.end_of({1, 1}, ProcessBench::kShortWhileMs));
  disk.free();
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 4) << exit->detail;
}

TEST_F(TroubleAtStart, AnAttemptWhoseClaimIsDamagedDoesNotBegin) {
  LaunchSpec launch = bench_.spec({"touch", "began"}, {1, 1});
  launch.mechanism = ShareMechanism::Mps;
  use_slow_mps();
  ASSERT_TRUE(bench_.executor().launch(launch));
  const std::filesystem::path claim = bench_.folder({1, 1}).path() / "claim";
  ProcessBench::await_file(claim);
  std::ofstream(claim, std::ios::trunc) << "garbage";
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::MachineTrouble) << exit->detail;
  EXPECT_FALSE(std::filesystem::exists(root_ / "began"));
}

TEST_F(TroubleAtStart, ASupervisorThatIsKilledBeforeItsClaimCostsTheJobNothing) {
  bench_.open_with(bench_.script("killed", "kill -9 $$"));
  expect_trouble(bench_.short_job({1, 1}), TroubleScope::Job, "the supervisor was killed");
}

TEST_F(TroubleAtStart, ASupervisorThatIsKilledBeforeTheFirstProcessOfItsJobCostsTheJobNothing) {
  const LaunchSpec launch = bench_.short_job({1, 1});
  ASSERT_TRUE(bench_.executor().launch(launch));
  bench_.await_end({1, 1});
  // As it was between the claim and the leader.
  for (const char* file : {"leader", "exit", "exit.copy"}) {
    std::filesystem::remove(bench_.folder({1, 1}).path() / file);
  }
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::MachineTrouble);
  EXPECT_EQ(exit->scope, TroubleScope::Job);
}

TEST_F(TroubleAtStart, AStarterThatIsKilledCostsTheJobNothing) {
  use_slow_mps();
  LaunchSpec launch = bench_.short_job({1, 1});
  launch.mechanism = ShareMechanism::Mps;
  ASSERT_TRUE(bench_.executor().launch(launch));
  ProcessBench::await_file(bench_.folder({1, 1}).path() / "claim");
  for (const ProcessEntry& process : list_processes()) {
    if (process.parent == ::getpid()) {
      ::kill(process.pid, SIGKILL);
    }
  }
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded) << exit->detail;
}

TEST_F(TroubleAtStart, AUserThatCannotBeLookedUpIsTroubleOfTheUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root starts jobs of other users";
  }
  LaunchSpec launch = bench_.short_job({1, 1});
  launch.owner.uid = 4'000'001;
  expect_trouble(launch, TroubleScope::User, "look up user 4000001");
}

TEST_F(TroubleAtStart, AProgramThatIsBeingWrittenIsTroubleOfTheMachine) {
  std::filesystem::copy_file("/bin/true", root_ / "program");
  const Descriptor writer(::open((root_ / "program").c_str(), O_WRONLY | O_CLOEXEC));
  const LaunchSpec launch = bench_.spec({(root_ / "program").string()}, {1, 1});
  expect_trouble(launch, TroubleScope::Job, "program");
}

TEST_F(TroubleAtStart, WhatTheJobItselfGetsWrongIsNotTheMachines) {
  std::ofstream(root_ / "text") << "not a program";
  const std::vector<LaunchSpec> wrong = {
      bench_.spec({"no-such-program-here"}, {1, 1}),
      bench_.spec({(root_ / "text").string()}, {2, 1}),
      bench_.spec({(root_ / "text" / "below").string()}, {3, 1}),
      bench_.spec({"true", std::string(1 << 20, 'x')}, {4, 1}),
  };
  for (const LaunchSpec& launch : wrong) {
    const RunExit exit = outcome(launch);
    EXPECT_EQ(exit.end, RunEnd::NeverStarted) << exit.detail;
    EXPECT_FALSE(exit.scope);
  }
  LaunchSpec homeless = bench_.short_job({5, 1});
  homeless.job.cwd = (root_ / "text").string();
  EXPECT_EQ(outcome(homeless).end, RunEnd::NeverStarted);
}

TEST_F(TroubleAtStart, MpsThatDoesNotStartIsTroubleOfTheGpusUntilItDoes) {
  LaunchSpec launch = bench_.short_job({1, 1});
  launch.mechanism = ShareMechanism::Mps;
  ::setenv("CARPOOL_MPS_CONTROL", "/no/such/program", 1);
  expect_trouble(launch, TroubleScope::Gpus, "MPS");
  const std::string control = bench_.script(
      "nvidia-cuda-mps-control",
      fmt::format("[ \"$1\" = -d ] && [ -e {} ] && echo no GPU answers && exit 1\nexec {} \"$@\"",
                  (root_ / "broken").string(),
                  CARPOOL_FAKE_MPS_CONTROL));
  ::setenv("CARPOOL_MPS_CONTROL", control.c_str(), 1);
  std::ofstream(root_ / "broken").put('x');
  launch.run = {2, 1};
  expect_trouble(launch, TroubleScope::Gpus, "no GPU answers");
  std::filesystem::remove(root_ / "broken");
  launch.run = {2, 2};
  EXPECT_EQ(outcome(launch).end, RunEnd::Succeeded);
}

}  // namespace
}  // namespace carpool::run
