#include "app/server/shim/shim_jobs.hpp"

#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "app/server/shim/shim_watch.hpp"
#include "interpose/guard/memory_guard.hpp"

namespace carpool::app {
namespace {

constexpr const char* kUuid = "GPU-0000aaaa-0000-0000-0000-000000000000";
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

class ShimJobsTest : public testing::Test {
 protected:
  ShimJobsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "cs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    place_ = {.library = "/o/lib/libcarpool_cuda.so", .driver = "/d/libcuda.so.1", .folder = root_};
    spec_.run = {17, 1};
    spec_.job.argv = {"/bin/train"};
    spec_.owner.uid = ::geteuid();
    spec_.gpu_uuids = {kUuid};
    spec_.mechanism = ShareMechanism::TimeSlicing;
    spec_.memory_limit_bytes = 100 * kMiB;
    gpu_.uuid = kUuid;
    gpu_.memory_bytes = 1024 * kMiB;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  run::Variables started(const run::Variables& env = {}) {
    return ShimJobs(place_, {gpu_}).start(spec_, env);
  }
  interpose::StateReport state() {
    interpose::StateReader reader;
    interpose::StateReport report;
    EXPECT_EQ(reader.open(place_.state_of(::geteuid()).string(), kUuid, ::geteuid()),
              interpose::StateError::None);
    EXPECT_EQ(reader.read(report), interpose::StateError::None);
    return report;
  }

  std::filesystem::path root_;
  ShimPlace place_;
  LaunchSpec spec_;
  GpuView gpu_;
};

TEST_F(ShimJobsTest, AJobThatSharesStartsWithTheLibraryInFrontOfItsOwn) {
  spec_.job.job_class = JobClass::Slo;
  spec_.job.slo_ms = 20.0;
  const run::Variables variables =
      started({{"LD_PRELOAD", "/their/lib.so"}, {"LD_LIBRARY_PATH", "/their"}});
  const run::Variables expected{
      {"LD_PRELOAD", "/o/lib/libcarpool_cuda.so:/their/lib.so"},
      {"LD_LIBRARY_PATH", "/o/lib/cuda:/their"},
      {"CARPOOL_REAL_LIBCUDA", "/d/libcuda.so.1"},
      {"CARPOOL_STATE_DIR", (root_ / std::to_string(::geteuid())).string()},
      {"CARPOOL_SHIM_NAME", "train"},
      {"CARPOOL_SHIM_CLASS", "slo"},
      {"CARPOOL_SHIM_SLO_NS", "20000000"},
      {"CARPOOL_SHIM_QUANTILE", "0.99"},
      {"CARPOOL_SHIM_POLICY", ""},
      {"CARPOOL_SHIM_MPS", ""},
      {"CARPOOL_SHIM_JOB", "17"},
      {"CARPOOL_SHIM_LIMIT", std::to_string(100 * kMiB)},
      {"CARPOOL_SHIM_GUARANTEE", ""},
      {"NVTX_INJECTION64_PATH", "/o/lib/libcarpool_cuda.so"}};
  EXPECT_EQ(variables, expected);
  EXPECT_FALSE(started({{"NVTX_INJECTION64_PATH", "/tool.so"}}).contains("NVTX_INJECTION64_PATH"));
}

TEST_F(ShimJobsTest, OnlyBestEffortJobsAreToldToWaitForRequests) {
  spec_.mechanism = ShareMechanism::Mps;
  const run::Variables chosen{{"CARPOOL_SHIM_POLICY", "time"}};
  EXPECT_EQ(started(chosen).at("CARPOOL_SHIM_CLASS"), "");
  EXPECT_FALSE(started(chosen).contains("NVTX_INJECTION64_PATH"));
  EXPECT_EQ(started(chosen).at("CARPOOL_SHIM_POLICY"), "");
  spec_.job.job_class = JobClass::BestEffort;
  spec_.job.slo_ms = 20.0;  // of no meaning for this class
  const run::Variables variables = started(chosen);
  EXPECT_EQ(variables.at("CARPOOL_SHIM_CLASS"), "best-effort");
  EXPECT_EQ(variables.at("CARPOOL_SHIM_POLICY"), "time");
  EXPECT_EQ(variables.at("CARPOOL_SHIM_SLO_NS"), "");
  EXPECT_EQ(variables.at("CARPOOL_SHIM_MPS"), "1");
}

TEST_F(ShimJobsTest, StreamsOfABestEffortJobAreOneQueueUnlessItsUserSaysMore) {
  const char* const name = "CUDA_DEVICE_MAX_CONNECTIONS";
  EXPECT_FALSE(started().contains(name));
  spec_.job.job_class = JobClass::BestEffort;
  EXPECT_EQ(started().at(name), "1");
  EXPECT_FALSE(started({{name, "8"}}).contains(name));
}

TEST_F(ShimJobsTest, TheStateBelongsToItsUserAndKnowsTheJob) {
  ASSERT_FALSE(started().empty());
  struct stat folder{};
  ASSERT_EQ(::stat(place_.state_of(::geteuid()).c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U);
  EXPECT_EQ(folder.st_uid, ::geteuid());
  const interpose::StateReport report = state();
  EXPECT_EQ(report.total_bytes, gpu_.memory_bytes);
  ASSERT_EQ(report.jobs.size(), 1U);
  EXPECT_EQ(report.jobs[0].job, 17U);
  EXPECT_EQ(report.jobs[0].limit_bytes, 100 * kMiB);
  EXPECT_TRUE(report.jobs[0].kept);
}

TEST_F(ShimJobsTest, TheStateOfAnotherUserBelongsToThatUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root starts jobs of other users";
  }
  spec_.owner.uid = 4711;
  ASSERT_FALSE(started().empty());
  const std::filesystem::path folder = place_.state_of(4711);
  for (const auto& path : {folder, folder / (std::string(kUuid) + ".state")}) {
    struct stat found{};
    ASSERT_EQ(::stat(path.c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_uid, 4711U);
    EXPECT_EQ(found.st_mode & 0077U, 0U);
  }
}

TEST_F(ShimJobsTest, AJobThatDoesNotShareOrIsNotToIsLeftAlone) {
  EXPECT_TRUE(started({{"CARPOOL_SHIM", "off"}}).empty());
  EXPECT_TRUE(started({{"LD_PRELOAD", "/a.so /opt/hami/libvgpu.so"}}).empty());
  EXPECT_TRUE(started({{"LD_PRELOAD", "libcuda.so.1:/b.so"}}).empty());
  spec_.mechanism = ShareMechanism::None;
  EXPECT_TRUE(started().empty());
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

TEST_F(ShimJobsTest, WithoutAStateTheJobRunsWithoutTheLibrary) {
  place_.folder = "/proc/no-such-folder";
  EXPECT_TRUE(started().empty());
}

TEST(ShimLimits, AreTheReservationAndTheRoomThatNoJobClaims) {
  GpuView gpu;
  gpu.memory_bytes = 1000 * kMiB;
  gpu.residents = {{.job = 1, .reserved_bytes = 300 * kMiB, .cap_bytes = 500 * kMiB},
                   {.job = 2, .reserved_bytes = 200 * kMiB}};
  const auto limits = [&](std::optional<std::uint64_t> owner = std::nullopt) {
    return shim_limits(gpu, gpu.residents[0], owner);
  };
  EXPECT_EQ(limits().limit_bytes, 500 * kMiB);  // its cap
  EXPECT_EQ(limits().guarantee_bytes, 300 * kMiB);
  gpu.residents[1].reserved_bytes = 600 * kMiB;  // another job was let in
  EXPECT_EQ(limits().limit_bytes, 400 * kMiB);
  gpu.residents[0].reserved_bytes = 400 * kMiB;  // it was granted more
  EXPECT_EQ(limits().limit_bytes, 400 * kMiB);
  EXPECT_EQ(limits().guarantee_bytes, 400 * kMiB);
  EXPECT_EQ(limits(100 * kMiB).limit_bytes, 100 * kMiB);
  EXPECT_EQ(shim_limits(gpu, gpu.residents[1], std::nullopt).limit_bytes, interpose::kUnlimited);
}

GpuObservation with_processes(JobId job, unsigned processes) {
  GpuObservation seen{.gpu = 0};
  seen.jobs = {{.job = job, .processes = processes}};
  return seen;
}

TEST_F(ShimJobsTest, AProcessWithoutASlotIsAnEscapeAfterSeveralLooks) {
  ASSERT_FALSE(started().empty());
  interpose::Client client;
  ASSERT_EQ(client.join(place_.state_of(::geteuid()).string(), kUuid, {.job = 17}),
            interpose::StateError::None);
  ShimWatch watch(place_);
  const std::vector<ShimTarget> targets{
      {.job = 17, .uid = ::geteuid(), .uuid = kUuid},
      {.job = 18, .uid = ::geteuid(), .uuid = kUuid}};  // without the library
  for (unsigned look = 1; look <= 3; ++look) {
    watch.look(targets);
    EXPECT_TRUE(watch.escaped({with_processes(17, 1), with_processes(18, 1)}).empty());
  }
  for (unsigned look = 1; look <= 3; ++look) {
    watch.look(targets);
    EXPECT_EQ(watch.escaped({with_processes(17, 2)}).size(), look < 3 ? 0U : 1U);
  }
  client.count_launch(1);
  watch.look(targets);
  EXPECT_EQ(watch.launches(17), 1U);
  EXPECT_FALSE(watch.launches(18));
}

observe::SeenProcess seen_process(std::int64_t pid, std::uint64_t bytes, JobId job) {
  return {
      .process = {.pid = pid, .memory_bytes = bytes},
      .owner = {job > 0 ? observe::ProcessOwner::Kind::Job : observe::ProcessOwner::Kind::Foreign,
                job}};
}

TEST_F(ShimJobsTest, AProcessWhoseContextIsBeingMadeIsNoEscape) {
  ASSERT_FALSE(started().empty());
  ShimWatch watch(place_);
  const std::vector<ShimTarget> targets{{.job = 17, .uid = ::geteuid(), .uuid = kUuid}};
  for (unsigned look = 1; look <= 5; ++look) {
    watch.look(targets);
    watch.account({{{seen_process(1, 0, 17), seen_process(2, 20 * kMiB, 17)}}});
    EXPECT_TRUE(watch.escaped({with_processes(17, 2)}).empty());
  }
  for (unsigned look = 1; look <= 3; ++look) {
    watch.look(targets);
    watch.account({{{seen_process(1, 0, 17), seen_process(2, 200 * kMiB, 17)}}});
    EXPECT_EQ(watch.escaped({with_processes(17, 2)}).size(), look < 3 ? 0U : 1U);
  }
}

TEST_F(ShimJobsTest, MemoryThatNoCallShowsIsToldToTheState) {
  ASSERT_FALSE(started().empty());
  interpose::Client client;
  ASSERT_EQ(client.join(place_.state_of(::geteuid()).string(), kUuid, {.job = 17}),
            interpose::StateError::None);
  interpose::MemoryGuard guard(client);
  ASSERT_EQ(guard.charge(30 * kMiB), interpose::Verdict::Admitted);
  ShimWatch watch(place_);
  const std::vector<ShimTarget> targets{{.job = 17, .uid = ::geteuid(), .uuid = kUuid}};
  const observe::SeenProcesses processes{{{seen_process(::getpid(), 50 * kMiB, 17),
                                           seen_process(1, 200 * kMiB, 17),
                                           seen_process(2, 300 * kMiB, 0)}}};
  std::vector<ShimEscape> escaped;
  for (unsigned look = 1; look <= 3; ++look) {
    watch.look(targets);
    watch.account(processes);
    escaped = watch.escaped({with_processes(17, 2)});
  }
  EXPECT_EQ(state().foreign_bytes, 500 * kMiB);
  EXPECT_EQ(state().clients.at(0).context_bytes, 20 * kMiB);
  EXPECT_EQ(guard.view().available, 50 * kMiB);  // of the limit of 100 MiB
  ASSERT_EQ(escaped.size(), 1U);
  EXPECT_EQ(escaped[0].job, 17);
  EXPECT_TRUE(escaped[0].how.starts_with("process 1 (")) << escaped[0].how;
  EXPECT_EQ(escaped[0].how.find("process 2"), std::string::npos);  // it is not a process of the job
  watch.look(targets);
  watch.account({std::nullopt});  // the GPU could not be read
  EXPECT_EQ(state().foreign_bytes, 500 * kMiB);
}

TEST_F(ShimJobsTest, WhatTheGateDidIsReadOfJobsThatTakePart) {
  ASSERT_FALSE(started().empty());
  interpose::Client client;
  ASSERT_EQ(client.join(place_.state_of(::geteuid()).string(), kUuid, {.job = 17}),
            interpose::StateError::None);
  ShimWatch watch(place_);
  const std::vector<ShimTarget> targets{{.job = 17, .uid = ::geteuid(), .uuid = kUuid}};
  watch.look(targets);
  EXPECT_TRUE(watch.gates().empty());
  client.slot().gate.slo_ns = 5'000'000;
  client.slot().gate.requests = 7;
  watch.look(targets);
  ASSERT_EQ(watch.gates().size(), 1U);
  EXPECT_EQ(watch.gates()[0].job, 17);
  EXPECT_EQ(watch.gates()[0].requests, 7U);
  EXPECT_EQ(watch.gates()[0].slo_ms, 5.0);
  client.leave();
  watch.look(targets);
  EXPECT_EQ(watch.gates().at(0).requests, 7U);
  watch.look({});
  EXPECT_TRUE(watch.gates().empty());
}

TEST_F(ShimJobsTest, ARefusalOfThisAttemptIsKnownAfterItsEnd) {
  ShimJobs jobs(place_, {gpu_});
  for (unsigned attempt = 1; attempt <= 2; ++attempt) {
    spec_.run.attempt = attempt;
    ASSERT_FALSE(jobs.start(spec_, {}).empty());
    EXPECT_FALSE(jobs.refused(spec_.run));
    interpose::Client client;
    ASSERT_EQ(client.join(place_.state_of(::geteuid()).string(), kUuid, {.job = 17}),
              interpose::StateError::None);
    interpose::MemoryGuard guard(client);
    EXPECT_NE(guard.charge(200 * kMiB), interpose::Verdict::Admitted);
    client.leave();
    EXPECT_TRUE(jobs.refused(spec_.run));
  }
}

}  // namespace
}  // namespace carpool::app
