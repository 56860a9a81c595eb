// Clients of one MPS server that fail together, or stand still, with a fake control program.
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/process/process_table.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_folder.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

constexpr const char* kClient =
    "touch $CUDA_MPS_PIPE_DIRECTORY/client.$$; touch ready.$CARPOOL_JOB_ID; ";
constexpr const char* kUntilGo = "while [ ! -e go ]; do sleep 0.01; done; ";

class MpsFaultTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1); }

  void start(JobId job, const std::string& script) {
    LaunchSpec launch = bench_.spec({"sh", "-c", script}, {job, 1});
    launch.mechanism = ShareMechanism::Mps;
    const auto launched = bench_.executor().launch(launch);
    ASSERT_TRUE(launched) << launched.error().detail;
    ProcessBench::await_file(root_ / fmt::format("ready.{}", job));
  }
  void start_client(JobId job) { start(job, std::string(kClient) + kUntilGo + "exit 1"); }
  // Its client is not its first process.
  void start_wrapped_client(JobId job, const std::string& last_words) {
    start(
        job,
        fmt::format("sh -c '{}{}echo \"{}\" >&2; exit 1'; exit 1", kClient, kUntilGo, last_words));
  }
  [[nodiscard]] gpu::MpsControl control() const {
    return {CARPOOL_FAKE_MPS_CONTROL,
            *gpu::MpsFolder::at(root_ / "mps" / fmt::format("0-{}", ::geteuid()))};
  }
  void fail_gpu() const { ASSERT_TRUE(control().ask("fatal_gpu_error")); }
  void let_go() const { ASSERT_TRUE(write_file(root_ / "go", "")); }
  [[nodiscard]] RunEnd end_of(JobId job) {
    const auto exit = bench_.end_of({job, 1});
    EXPECT_TRUE(exit);
    return exit ? exit->end : RunEnd::Lost;
  }
  // Without knowing which comes first.
  [[nodiscard]] std::map<JobId, RunEnd> ends_of(std::size_t count) {
    std::map<JobId, RunEnd> ends;
    ProcessBench::await([&] {
      for (const RunReport& report : bench_.executor().take_reports()) {
        if (report.kind == RunReport::Kind::Ended) {
          ends.emplace(report.run.job, report.exit.end);
        }
      }
      return ends.size() == count;
    });
    return ends;
  }

  ProcessBench bench_;
  const std::filesystem::path& root_ = bench_.root();
};

TEST_F(MpsFaultTest, AllClientsOfAFailedGpuContextHadAFaultOfMps) {
  start_client(1);
  start_client(2);
  start_wrapped_client(3, "RuntimeError: CUDA error: an illegal memory access was encountered");
  fail_gpu();
  let_go();
  EXPECT_EQ(ends_of(3),
            (std::map<JobId, RunEnd>{
                {1, RunEnd::MpsFault}, {2, RunEnd::MpsFault}, {3, RunEnd::MpsFault}}));
}

TEST_F(MpsFaultTest, AJobThatWasTheOnlyClientHasFailedItself) {
  start_client(1);
  fail_gpu();
  let_go();
  EXPECT_EQ(end_of(1), RunEnd::Failed);
}

TEST_F(MpsFaultTest, AJobThatWasNoClientThenHasFailedItself) {
  start_client(1);
  start_client(2);
  start(3, std::string("touch ready.3; ") + kUntilGo + "echo 'ValueError: no data' >&2; exit 1");
  fail_gpu();
  let_go();
  EXPECT_EQ(
      ends_of(3),
      (std::map<JobId, RunEnd>{{1, RunEnd::MpsFault}, {2, RunEnd::MpsFault}, {3, RunEnd::Failed}}));
}

TEST_F(MpsFaultTest, AFaultBeforeTheJobStartedIsNotItsOwn) {
  start_client(1);
  start_client(2);
  fail_gpu();
  start_client(3);
  let_go();
  EXPECT_EQ(ends_of(3).at(3), RunEnd::Failed);
}

TEST_F(MpsFaultTest, APausedClientGoesOnBeforeItIsDrained) {
  start_client(1);
  start_client(2);
  const auto leader = bench_.folder({1, 1}).leader();
  ASSERT_TRUE(leader && *leader);
  for (const StopMode mode : {StopMode::Ask, StopMode::Kill}) {
    const JobId job = mode == StopMode::Ask ? 1 : 2;
    const auto first = bench_.folder({job, 1}).leader();
    ASSERT_TRUE(first && *first);
    bench_.executor().pause({job, 1});
    ProcessBench::await([&] {
      const auto process = find_process((*first)->pid);
      return process && process->state == 'T';
    });
    bench_.executor().stop({job, 1}, mode);
    EXPECT_EQ(end_of(job), RunEnd::Cancelled);
    EXPECT_FALSE(std::filesystem::exists(control().folder().pipe() /
                                         fmt::format("drained_still.{}", (*first)->pid)));
  }
}

TEST_F(MpsFaultTest, APausedClientGoesOnWhenTheGpuContextFails) {
  start_client(1);
  start_client(2);
  const auto leader = bench_.folder({1, 1}).leader();
  ASSERT_TRUE(leader && *leader);
  bench_.executor().pause({1, 1});
  ProcessBench::await([&] {
    const auto process = find_process((*leader)->pid);
    return process && process->state == 'T';
  });
  let_go();
  EXPECT_EQ(end_of(2), RunEnd::Failed);
  EXPECT_FALSE(bench_.end_of({1, 1}, ProcessBench::kShortWhileMs)) << "it stands still";
  fail_gpu();
  EXPECT_TRUE(bench_.end_of({1, 1}));
}

}  // namespace
}  // namespace carpool::run
