#include "observe/gpu_observer.hpp"

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::observe {
namespace {

ProcessOwner owner_of(std::int64_t pid) {
  switch (pid) {
    case 10:
    case 11:
      return {ProcessOwner::Kind::Job, 7};
    case 20:
      return {ProcessOwner::Kind::MpsServer};
    case 30:
      return {ProcessOwner::Kind::Foreign};
    default:
      return {ProcessOwner::Kind::Unknown};
  }
}

class GpuObserverTest : public testing::Test {
 protected:
  gpu::FakeTelemetry source_{gpu::two_fake_gpus()};
  GpuObserver observer_{source_, gpu::two_fake_gpus(), {.window_samples = 1}};
};

TEST_F(GpuObserverTest, MemoryIsAssignedToJobsAndForeignProcessesAreSeen) {
  source_.set_sample(0, {.memory_used_bytes = 1000});
  source_.set_processes(0,
                        {{.pid = 10, .memory_bytes = 100},
                         {.pid = 11, .memory_bytes = 50},
                         {.pid = 20, .memory_bytes = 5},
                         {.pid = 30, .memory_bytes = 400}});
  const auto seen = observer_.read({.owner = owner_of});
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].used_bytes, 1000U);
  ASSERT_EQ(seen[0].jobs.size(), 1U);
  EXPECT_EQ(seen[0].jobs[0].job, 7);
  EXPECT_EQ(seen[0].jobs[0].bytes, 150U);
  EXPECT_EQ(seen[0].jobs[0].processes, 2U);
  EXPECT_TRUE(seen[0].foreign);
  EXPECT_EQ(seen[0].foreign_bytes, 400U);
}

TEST_F(GpuObserverTest, TellsAllSensorsOfTheGpusThatItCouldRead) {
  source_.set_sample(0, {.power_watts = 300.0});
  source_.set_energy(0, 17.0);
  source_.set_health(0, {.ecc_corrected = 2});
  source_.set_process_activity(
      0, std::vector<ProcessActivity>{{10, 0.25}, {11, 0.5}, {20, 0.125}, {30, 0.125}});
  source_.break_gpu(1, {ErrorCode::Internal, "lost"});
  static_cast<void>(observer_.read({.owner = owner_of}));
  const auto readings = observer_.readings();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].info.uuid, "GPU-fake-0");
  EXPECT_EQ(readings[0].sample.power_watts, 300.0);
  EXPECT_EQ(readings[0].energy->joules, 17.0);
  EXPECT_EQ(readings[0].health.ecc_corrected, 2U);
  EXPECT_EQ(readings[0].health.xid_errors, std::nullopt);
  ASSERT_EQ(readings[0].jobs.size(), 1U);  // neither foreign processes nor the MPS server
  EXPECT_EQ(readings[0].jobs[0].job, 7);
  EXPECT_DOUBLE_EQ(readings[0].jobs[0].sm_active, 0.75);
}

TEST_F(GpuObserverTest, TellsEnergyAndTheSmActivityOfJobs) {
  source_.set_processes(0, {{.pid = 10, .memory_bytes = 100}, {.pid = 11, .memory_bytes = 50}});
  EXPECT_EQ(observer_.read({.owner = owner_of})[0].energy_joules, std::nullopt);
  const auto look = [&](std::optional<std::vector<ProcessActivity>> told) {
    source_.set_energy(0, 17.0);
    source_.set_process_activity(0, std::move(told));
    // A new observer: the slow sensors are read about once a second.
    GpuObserver fresh(source_, gpu::two_fake_gpus(), {.window_samples = 1});
    return fresh.read({.owner = owner_of})[0];
  };
  using Told = std::vector<ProcessActivity>;
  EXPECT_EQ(look(Told{{10, 0.25}, {11, 0.5}}).jobs.at(0).sm_active, 0.75);
  EXPECT_EQ(look(Told{{30, 0.5}}).jobs.at(0).sm_active, 0.0);  // it did not compute
  EXPECT_EQ(look(std::nullopt).jobs.at(0).sm_active, std::nullopt);
  EXPECT_EQ(look(std::nullopt).energy_joules, 17.0);
  source_.set_processes(0, {{.pid = 10, .memory_bytes = 100, .mps_client = true}});
  EXPECT_EQ(look(Told{{20, 0.5}}).jobs.at(0).sm_active, std::nullopt);  // only the MPS server
}

TEST_F(GpuObserverTest, TheActivityOfAHiddenProcessIsThatOfTheOnlyJob) {
  source_.set_processes(0, {{.pid = 99, .memory_bytes = 5}});
  source_.set_process_activity(0, std::vector<ProcessActivity>{{99, 0.5}});
  EXPECT_EQ(observer_.read({.owner = owner_of, .residents = {{0, {8}}}})[0].jobs.at(0).sm_active,
            0.5);
  GpuObserver two_jobs(source_, gpu::two_fake_gpus(), {.window_samples = 1});
  EXPECT_EQ(two_jobs.read({.owner = owner_of, .residents = {{0, {8, 9}}}})[0].jobs.at(0).sm_active,
            std::nullopt);
}

TEST_F(GpuObserverTest, AnMpsServerIsNotForeign) {
  source_.set_processes(1, {{.pid = 20, .memory_bytes = 5}});
  EXPECT_FALSE(observer_.read({.owner = owner_of})[1].foreign);
}

TEST_F(GpuObserverTest, AHiddenProcessIsForeignUnlessAJobRunsThere) {
  source_.set_processes(0, {{.pid = 99, .memory_bytes = 5}});
  source_.set_processes(1, {{.pid = 99, .memory_bytes = 5}});
  const auto seen = observer_.read({.owner = owner_of, .residents = {{1, {8}}}});
  EXPECT_TRUE(seen[0].foreign);
  EXPECT_EQ(seen[0].foreign_bytes, 5U);
  EXPECT_FALSE(seen[1].foreign);
  ASSERT_EQ(seen[1].jobs.size(), 1U);
  EXPECT_EQ(seen[1].jobs[0].job, 8);
  EXPECT_EQ(seen[1].jobs[0].bytes, 5U);
}

// The scheduler knows that they compute; their memory stays unknown.
TEST_F(GpuObserverTest, HiddenProcessesOfSeveralJobsAreThoseOfJobsThatWereNotSeen) {
  source_.set_processes(0,
                        {{.pid = 10, .memory_bytes = 100},
                         {.pid = 98, .memory_bytes = 50},
                         {.pid = 99, .memory_bytes = 5}});
  const auto seen = observer_.read({.owner = owner_of, .residents = {{0, {7, 8, 9, 6}}}});
  EXPECT_FALSE(seen[0].foreign);
  ASSERT_EQ(seen[0].jobs.size(), 3U);
  EXPECT_EQ(seen[0].jobs[0].job, 7);
  EXPECT_EQ(seen[0].jobs[0].bytes, 100U);
  for (std::size_t i : {1U, 2U}) {
    EXPECT_EQ(seen[0].jobs[i].job, static_cast<JobId>(7 + i));
    EXPECT_EQ(seen[0].jobs[i].bytes, 0U);
    EXPECT_EQ(seen[0].jobs[i].processes, 0U);
  }
}

TEST_F(GpuObserverTest, AGpuThatCannotBeReadIsUnusableWithTheReason) {
  source_.break_gpu(1, {ErrorCode::Internal, "fell off the bus"});
  const auto seen = observer_.read({.owner = owner_of});
  EXPECT_TRUE(seen[0].unusable.empty());
  EXPECT_EQ(seen[1].unusable, "fell off the bus");
}

TEST_F(GpuObserverTest, PressureComesWithAFullWindow) {
  source_.set_activity(0, {.sm_active = 0.5, .dram_active = 0.25});
  source_.advance(std::chrono::seconds(1));
  const auto seen = observer_.read({.owner = owner_of});
  ASSERT_TRUE(seen[0].pressure);
  EXPECT_DOUBLE_EQ(seen[0].pressure->sm_active, 0.5);
  EXPECT_DOUBLE_EQ(seen[0].pressure->dram_active, 0.25);
}

TEST_F(GpuObserverTest, ShortReadingsAreReportedAndJoinedToSecondsInTheWindow) {
  for (const double active : {0.2, 0.4, 0.6}) {
    source_.set_activity(0, {.sm_active = active});
    source_.advance(std::chrono::milliseconds(250));
    const auto seen = observer_.read({.owner = owner_of});
    ASSERT_TRUE(seen[0].latest);
    EXPECT_DOUBLE_EQ(seen[0].latest->sm_active, active);
    EXPECT_FALSE(seen[0].pressure);
  }
  source_.set_activity(0, {.sm_active = 0.8});
  source_.advance(std::chrono::milliseconds(250));
  const auto seen = observer_.read({.owner = owner_of});
  ASSERT_TRUE(seen[0].pressure);
  EXPECT_DOUBLE_EQ(seen[0].pressure->sm_active, 0.5);
  EXPECT_FALSE(observer_.read({.owner = owner_of})[0].latest) << "nothing was measured since";
}

}  // namespace
}  // namespace carpool::observe
