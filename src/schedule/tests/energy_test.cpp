// Energy of GPUs, divided among jobs: sequences of readings, and what a restart keeps.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/gpus/energy_ledger.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

using Present = EnergyLedger::Present;

// One reading of a GPU, as the server takes it each second.
struct RecordedReading {
  double joules = 0.0;
  std::vector<Present> present{};
};

double read_all(EnergyLedger& ledger, const std::vector<RecordedReading>& readings) {
  for (const RecordedReading& reading : readings) {
    ledger.read("GPU-a", reading.joules, reading.present);
  }
  return readings.back().joules - readings.front().joules;
}

TEST(EnergyLedger, AJobAloneGetsEverything) {
  EnergyLedger ledger;
  const double taken = read_all(ledger,
                                {{1000.0, {{.job = 7, .sm_active = 0.1}}},
                                 {1500.0, {{.job = 7, .sm_active = 0.9}}},
                                 {1800.0, {{.job = 7, .sm_active = std::nullopt}}},
                                 {2600.0, {{.job = 7, .sm_active = 0.0}}}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(7), taken);
}

TEST(EnergyLedger, IsDividedBySmActivityElseEqually) {
  EnergyLedger ledger;
  read_all(ledger,
           {{0.0, {{.job = 1}, {.job = 2}}},
            // 3 : 1
            {400.0, {{.job = 1, .sm_active = 0.6}, {.job = 2, .sm_active = 0.2}}},
            // of one it is not known
            {500.0, {{.job = 1, .sm_active = 0.6}, {.job = 2}}},
            // none computes
            {600.0, {{.job = 1, .sm_active = 0.0}, {.job = 2, .sm_active = 0.0}}}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 300.0 + 50.0 + 50.0);
  EXPECT_DOUBLE_EQ(*ledger.joules_of(2), 100.0 + 50.0 + 50.0);
}

TEST(EnergyLedger, AnIdleGpuAndTheIntervalOfAStartCountForNoJob) {
  EnergyLedger ledger;
  read_all(ledger, {{0.0, {}}, {100.0, {}}, {200.0, {{.job = 1}}}});
  EXPECT_EQ(ledger.joules_of(1), std::nullopt);
  ledger.read("GPU-a", 200.0, std::vector<Present>{{.job = 1}, {.job = 2}});  // the same reading
  ledger.read("GPU-a", 260.0, std::vector<Present>{{.job = 1}, {.job = 2}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 60.0);
  EXPECT_EQ(ledger.joules_of(2), std::nullopt);
}

TEST(EnergyLedger, APausedJobGetsNothingFromTheNextReadingOn) {
  EnergyLedger ledger;
  read_all(ledger,
           {{0.0, {{.job = 1}, {.job = 2, .runs = false}}},
            {100.0, {{.job = 1, .runs = false}, {.job = 2}}},
            {300.0, {{.job = 1, .runs = false}, {.job = 2}}}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 100.0);
  EXPECT_DOUBLE_EQ(*ledger.joules_of(2), 200.0);
}

TEST(EnergyLedger, ACounterThatWasResetBeginsAgain) {
  EnergyLedger ledger;
  read_all(ledger, {{5000.0, {{.job = 1}}}, {10.0, {{.job = 1}}}, {25.0, {{.job = 1}}}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 15.0);
}

TEST(EnergyLedger, JobsTogetherNeverGetMoreThanTheGpuTook) {
  EnergyLedger ledger;
  double ended = 0.0;
  double joules = 1000.0;
  std::vector<Present> present;
  // Jobs come, pause, go, and are told apart or not, in a fixed order without a pattern.
  constexpr unsigned kReadings = 500;
  unsigned state = 17;
  const auto next = [&](unsigned below) {
    state = state * 1103515245U + 12345U;
    return (state >> 16U) % below;
  };
  for (unsigned i = 0; i < kReadings; ++i) {
    if (next(4) == 0) {
      present.push_back({.job = static_cast<JobId>(i + 1)});
    }
    if (!present.empty() && next(5) == 0) {
      const std::size_t which = next(static_cast<unsigned>(present.size()));
      ended += ledger.joules_of(present[which].job).value_or(0.0);
      ledger.remove(present[which].job);
      present.erase(present.begin() + static_cast<std::ptrdiff_t>(which));
    }
    for (Present& job : present) {
      job.runs = next(6) != 0;
      job.sm_active = next(3) == 0 ? std::nullopt : std::optional(next(101) * 0.01);
    }
    joules += next(700);
    ledger.read("GPU-a", joules, present);
    double given = ended;
    for (const Present& job : present) {
      given += ledger.joules_of(job.job).value_or(0.0);
    }
    ASSERT_LE(given, (joules - 1000.0) * (1.0 + 1e-12)) << "after reading " << i;
  }
  EXPECT_GT(ended, 0.5 * (joules - 1000.0));
}

// A server whose GPU 0 has a counter.
struct MeteredServer : StubServer {
  void meter(double joules, const std::vector<JobId>& jobs, double now_s) {
    GpuObservation seen{.gpu = 0, .energy_joules = joules};
    for (const JobId job : jobs) {
      seen.jobs.push_back({.job = job, .bytes = kGiB, .sm_active = 0.5});
    }
    scheduler->observe(seen, now_s);
  }
};

TEST(Energy, IsInTheJournalOnceTheAttemptHasEnded) {
  MeteredServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  EXPECT_EQ(server.scheduler->energy_joules(job), std::nullopt);
  server.meter(100.0, {job}, 1.0);
  server.meter(700.0, {job}, 2.0);
  EXPECT_EQ(server.scheduler->energy_joules(job), 600.0);
  EXPECT_EQ(server.scheduler->gpus()[0].residents.front().sm_active, 0.5);
  server.end(job, {.end = RunEnd::Succeeded}, 3.0);
  EXPECT_EQ(server.scheduler->energy_joules(job), std::nullopt);
  EXPECT_EQ(server.record(job).attempts.back().energy_joules, 600.0);
  server.restart(10.0);
  EXPECT_EQ(server.record(job).attempts.back().energy_joules, 600.0);
  EXPECT_EQ(server.scheduler->energy(), EnergyRecord{});
}

TEST(Energy, SurvivesARestartWithWhatTheGpuTookMeanwhile) {
  MeteredServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.meter(100.0, {job}, 1.0);
  server.meter(700.0, {job}, 2.0);
  const EnergyRecord kept = server.scheduler->energy();
  ASSERT_EQ(kept.attempts.size(), 1U);
  EXPECT_EQ(kept.attempts.front(), (EnergyRecord::Attempt{.run = {job, 1}, .joules = 600.0}));
  server.meter(1300.0, {job}, 3.0);  // after the file was written
  server.restart(100.0, kept);
  EXPECT_EQ(server.scheduler->energy_joules(job), 600.0);
  server.meter(9300.0, {job}, 101.0);
  EXPECT_EQ(server.scheduler->energy_joules(job), 9200.0);
  server.end(job, {.end = RunEnd::Succeeded}, 102.0);
  EXPECT_EQ(server.record(job).attempts.back().energy_joules, 9200.0);
}

TEST(Energy, OfAnAttemptThatEndedMeanwhileIsThatOfTheLastReading) {
  MeteredServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.meter(100.0, {job}, 1.0);
  server.meter(700.0, {job}, 2.0);
  const EnergyRecord kept = server.scheduler->energy();
  server.executor.end({job, 1}, {.end = RunEnd::Succeeded, .at_s = 50.0});
  server.executor.reports.clear();  // no server took it
  server.restart(100.0, kept);
  EXPECT_EQ(server.record(job).attempts.back().energy_joules, 600.0);
}

// What the one that ended took since then may be in the journal already.
TEST(Energy, AfterAJobHasEndedTheTimeOfTheRestartCountsForNoJob) {
  EnergyLedger ledger;
  ledger.restore("GPU-a", {.joules = 1000.0, .jobs = {1, 2}});
  ledger.restore(1, 40.0);
  ledger.read("GPU-a", 5000.0, std::vector<Present>{{.job = 1}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 40.0);
  ledger.read("GPU-a", 5100.0, std::vector<Present>{{.job = 1}});
  EXPECT_DOUBLE_EQ(*ledger.joules_of(1), 140.0);
}

TEST(Energy, OfAnotherAttemptIsNotRestored) {
  MeteredServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.restart(
      1.0,
      {.attempts = {{.run = {job, 2}, .joules = 5.0}, {.run = {job + 1, 1}, .joules = 5.0}},
       .gpus = {{.uuid = "GPU-0", .joules = 1.0, .runs = {{job, 2}}}}});
  EXPECT_EQ(server.scheduler->energy_joules(job), std::nullopt);
  EXPECT_EQ(server.scheduler->energy(), EnergyRecord{});
}

}  // namespace
}  // namespace carpool::schedule
