#include "run/process_executor.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "base/process/process_table.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/supervisor_order.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

class ProcessExecutorTest : public testing::Test {
 protected:
  [[nodiscard]] LaunchSpec spec(std::vector<std::string> argv, JobId job = 1) const {
    return bench_.spec(std::move(argv), {job, 1});
  }
  [[nodiscard]] RunFolder folder(JobId job = 1) const { return bench_.folder({job, 1}); }

  void start(const LaunchSpec& launch) {
    const auto launched = bench_.executor().launch(launch);
    ASSERT_TRUE(launched) << launched.error().detail;
  }

  std::optional<RunExit> await_end() { return await(RunReport::Kind::Ended); }
  void await_running() { ASSERT_TRUE(await(RunReport::Kind::Running)); }

  std::optional<RunExit> await(RunReport::Kind kind) {
    do {
      for (const RunReport& report : bench_.executor().take_reports()) {
        if (report.kind == kind) {
          return report.exit;
        }
      }
    } while (bench_.wait());
    return std::nullopt;
  }

  void lose_supervisor() {
    const auto claim = folder().claimed();
    ASSERT_TRUE(claim && *claim);
    ::kill((*claim)->supervisor.pid, SIGKILL);
    const auto exit = await_end();
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->end, RunEnd::Lost);
    EXPECT_EQ(exit->detail, "the supervisor was killed, and the job with it");
  }

  ProcessBench bench_;
  const std::filesystem::path& root_ = bench_.root();
};

TEST_F(ProcessExecutorTest, AJobRunsInItsFolderWithItsEnvironmentAndItsOutputIsKept) {
  LaunchSpec launch = spec({"sh", "-c", "pwd; echo $CUDA_VISIBLE_DEVICES $CARPOOL_JOB_ID $X >&2"});
  launch.job.env.set("X", "y");
  start(launch);
  const auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded);
  EXPECT_EQ(exit->code, 0);
  EXPECT_EQ(read_file(folder().stdout_file()), root_.string() + "\n");
  EXPECT_EQ(read_file(folder().stderr_file()), "GPU-00000000-0000-0000-0000-000000000001 1 y\n");
}

TEST_F(ProcessExecutorTest, AJobThatSharesAGpuGetsItsShareOfOpenMpThreads) {
  ProcessExecutorSettings settings = bench_.settings();
  settings.openmp_threads = 4;
  bench_.open(settings);
  const std::vector<std::string> tell = {"sh", "-c", "echo ${OMP_NUM_THREADS-unset}"};
  LaunchSpec shared = spec(tell, 1);
  shared.mechanism = ShareMechanism::TimeSlicing;
  LaunchSpec told = spec(tell, 2);
  told.mechanism = ShareMechanism::TimeSlicing;
  told.job.env.set("OMP_NUM_THREADS", "9");
  for (const LaunchSpec& launch : {shared, told, spec(tell, 3)}) {
    start(launch);
    ASSERT_TRUE(await_end());
  }
  EXPECT_EQ(read_file(bench_.folder({1, 1}).stdout_file()), "4\n");
  EXPECT_EQ(read_file(bench_.folder({2, 1}).stdout_file()), "9\n") << "the job's own";
  EXPECT_EQ(read_file(bench_.folder({3, 1}).stdout_file()), "unset\n") << "it has the GPU alone";
}

TEST_F(ProcessExecutorTest, AnOutputHoldsNoMoreThanItsLimit) {
  ProcessExecutorSettings settings = bench_.settings();
  settings.output_limit_bytes = std::uint64_t{1} << 20U;
  bench_.open(settings);
  start(spec(
      {"sh", "-c", "head -c 4000000 /dev/zero | tr '\\0' x; echo; echo the end; echo few >&2"}));
  ASSERT_TRUE(await_end());
  struct stat status{};
  ASSERT_EQ(::stat(folder().stdout_file().c_str(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, 1 << 20U);
  EXPECT_GT(status.st_size, 4'000'000) << "offsets stay as they were";
  const std::string tail = tail_of(folder().stdout_file(), 1 << 20U);
  EXPECT_NE(tail.find("the end\n"), std::string::npos);
  EXPECT_NE(tail.find("carpool: this output passed its limit of 1 MiB"), std::string::npos);
  EXPECT_EQ(read_file(folder().stderr_file()), "few\n");
}

TEST_F(ProcessExecutorTest, TheLibraryInFrontOfTheDriverReplacesTheProfilers) {
  ProcessExecutorSettings settings = bench_.settings();
  settings.progress = {.folder = root_ / "progress" / "journal", .library = "/no/profiler.so"};
  settings.shim = [](const LaunchSpec& launch, const Variables& env) {
    return launch.mechanism == ShareMechanism::None
               ? Variables{}
               : Variables{{"SHIM", "before " + env.at("THEIRS")}, {"THEIRS", ""}};
  };
  bench_.open(settings);
  const std::vector<std::string> tell = {
      "sh", "-c", "echo ${SHIM-unset}, ${THEIRS-unset}, ${CUDA_INJECTION64_PATH-unset}"};
  LaunchSpec shared = spec(tell, 1);
  shared.mechanism = ShareMechanism::TimeSlicing;
  LaunchSpec alone = spec(tell, 2);
  for (LaunchSpec* launch : {&shared, &alone}) {
    launch->job.env.set("THEIRS", "theirs");
    start(*launch);
    ASSERT_TRUE(await_end());
  }
  EXPECT_EQ(read_file(bench_.folder({1, 1}).stdout_file()), "before theirs, unset, unset\n");
  EXPECT_EQ(read_file(bench_.folder({2, 1}).stdout_file()), "unset, theirs, /no/profiler.so\n");
}

TEST_F(ProcessExecutorTest, IsAskedForRoomBeforeAnAttemptGoesOn) {
  ProcessExecutorSettings settings = bench_.settings();
  bool stood_still = false;
  settings.before_resume = [&](RunId run) {
    const auto pause = bench_.folder(run).pause();
    stood_still = pause && pause->has_value();
  };
  bench_.open(settings);
  start(spec({"sleep", "600"}));
  await_running();
  bench_.executor().pause({1, 1});
  EXPECT_FALSE(stood_still);
  bench_.executor().resume({1, 1});
  EXPECT_TRUE(stood_still);
  bench_.executor().stop({1, 1}, StopMode::Kill);
  EXPECT_TRUE(await_end());
}

TEST_F(ProcessExecutorTest, OutOfMemoryAfterARefusalIsOverTheCap) {
  ProcessExecutorSettings settings = bench_.settings();
  settings.refused = [](RunId run) { return run.job == 1; };
  bench_.open(settings);
  const std::string message =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.";
  for (const JobId job : {1, 2}) {
    start(spec({"sh", "-c", "echo '" + message + "' >&2; exit 1"}, job));
    const auto exit = await_end();
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->end, job == 1 ? RunEnd::OverCap : RunEnd::OutOfMemory);
    EXPECT_EQ(exit->detail, message);
  }
  start(bench_.spec({"sh", "-c", "exit 1"}, {1, 2}));
  const auto other = await_end();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->end, RunEnd::Failed) << "it did not run out of memory";
}

TEST_F(ProcessExecutorTest, ExitCodeSignalAndLastLineAreReported) {
  start(spec({"sh", "-c", "echo broken >&2; exit 3"}));
  auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Failed);
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(exit->detail, "broken");
  start(spec({"sh", "-c", "kill -SEGV $$"}, 2));
  exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGSEGV);
}

TEST_F(ProcessExecutorTest, AJobThatCannotStartReportsWhy) {
  start(spec({"no-such-program-here"}));
  auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::NeverStarted);
  EXPECT_NE(exit->detail.find("no-such-program-here"), std::string::npos);
  LaunchSpec homeless = spec({"true"}, 2);
  homeless.job.cwd = (root_ / "gone").string();
  start(homeless);
  exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::NeverStarted);
  EXPECT_NE(exit->detail.find("gone"), std::string::npos);
}

TEST_F(ProcessExecutorTest, AskStopsAJobAndKillOneThatIgnoresSigterm) {
  start(spec({"sh", "-c", "touch ready; exec sleep 600"}));
  await_running();
  ProcessBench::await_file(root_ / "ready");
  bench_.executor().stop({1, 1}, StopMode::Ask);
  auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
  EXPECT_EQ(exit->signal, SIGTERM);

  start(spec({"sh", "-c", "trap '' TERM; touch deaf; sleep 600"}, 2));
  await_running();
  ProcessBench::await_file(root_ / "deaf");
  bench_.executor().stop({2, 1}, StopMode::Ask);
  bench_.executor().stop({2, 1}, StopMode::Kill);
  exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
}

TEST_F(ProcessExecutorTest, ARestartFindsARunningJobAndReportsItsEnd) {
  start(spec({"sh", "-c", "touch ready; while [ ! -e go ]; do sleep 0.01; done; exit 5"}));
  await_running();
  ProcessBench::await_file(root_ / "ready");
  bench_.restart();
  const auto found = bench_.executor().find(spec({}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, FoundRun::State::Running);
  std::ofstream(root_ / "go").put('x');
  const auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 5);
}

TEST_F(ProcessExecutorTest, ARestartFindsTheExitStatusOfAJobThatEndedMeanwhile) {
  start(spec({"sh", "-c", "exit 7"}));
  bench_.await_end({1, 1});
  bench_.restart();
  const auto found = bench_.executor().find(spec({}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, FoundRun::State::Ended);
  EXPECT_EQ(found->exit.code, 7);
}

TEST_F(ProcessExecutorTest, AJobThatWasFoundNotToHaveBegunNeverBegins) {
  const LaunchSpec launch = spec({"sh", "-c", "touch began"});
  const auto found = bench_.executor().find(launch);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, FoundRun::State::NeverBegan);
  const auto launched = bench_.executor().launch(launch);  // as a supervisor that was delayed
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().end, RunEnd::MachineTrouble);
  EXPECT_EQ(launched.error().scope, TroubleScope::Job);
  EXPECT_FALSE(std::filesystem::exists(root_ / "began"));
}

TEST_F(ProcessExecutorTest, AnAttemptBeginsOnce) {
  const LaunchSpec launch = spec({"sh", "-c", "echo begun >> log"});
  start(launch);
  ASSERT_TRUE(await_end());
  EXPECT_FALSE(bench_.executor().launch(launch));
  EXPECT_EQ(read_file(root_ / "log"), "begun\n");
}

TEST_F(ProcessExecutorTest, AJobDiesWithItsSupervisorAndIsLost) {
  start(spec({"sh", "-c", "setsid sleep 600 & touch ready; sleep 600"}));
  await_running();
  ProcessBench::await_file(root_ / "ready");
  lose_supervisor();
  EXPECT_TRUE(processes_with(kRunVariable, folder().path().string()).empty());
}

TEST_F(ProcessExecutorTest, ALostRunOfAnotherServerWithTheSameNumberIsLeftAlone) {
  // A process of another server of this user.
  auto stranger = ChildProcess::start(
      {.argv = {"sleep", "600"},
       .environment = {{"CARPOOL_RUN_ID", "1.1"}, {std::string(kRunVariable), "/elsewhere/1.1"}},
       .working_folder = {}},
      {});
  ASSERT_TRUE(stranger);
  start(spec({"sleep", "600"}));
  await_running();
  lose_supervisor();
  EXPECT_FALSE(stranger->poll());
}

TEST_F(ProcessExecutorTest, AllProcessesOfAJobEndWithItsFirst) {
  start(spec({"sh", "-c", "setsid sleep 600 & sleep 600 & exit 0"}));
  const auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded);
  EXPECT_TRUE(processes_with(kRunVariable, folder().path().string()).empty());
}

TEST_F(ProcessExecutorTest, UnderMpsAStoppedClientIsDrainedAndTheDaemonEndsWithItsLastJob) {
  ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1);
  LaunchSpec launch = spec({"sh",
                            "-c",
                            "echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; f=client.$$; "
                            "touch $CUDA_MPS_PIPE_DIRECTORY/$f; touch ready; trap 'exit 9' TERM; "
                            "while :; do sleep 0.01; done"});
  launch.mechanism = ShareMechanism::Mps;
  launch.thread_limit = 40.0;
  start(launch);
  await_running();
  ProcessBench::await_file(root_ / "ready");
  const std::filesystem::path pipe = root_ / "mps" / ("0-" + std::to_string(::geteuid())) / "pipe";
  EXPECT_TRUE(std::filesystem::exists(pipe));
  bench_.executor().stop({1, 1}, StopMode::Ask);
  const auto exit = await_end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
  EXPECT_EQ(read_file(folder().stdout_file()), "40\n");
  // The fake control program removes the file of a drained client; that of a killed one stays.
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(pipe, gone)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("client.")) << entry.path();
  }
  ProcessBench::await([&] { return !std::filesystem::exists(pipe); });
  EXPECT_FALSE(std::filesystem::exists(pipe)) << "the MPS daemon outlives its last job";
}

}  // namespace
}  // namespace carpool::run
