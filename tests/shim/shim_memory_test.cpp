// The quota in a program that knows nothing of it.
#include <array>
#include <thread>

#include "shim_fixture.hpp"

namespace carpool::shim_test {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kOutOfMemory = 2;

TEST_F(Shim, RefusesWhatExceedsTheQuotaBeforeTheDriverIsAsked) {
  const Values seen =
      run({"lookup", "fill", "10"}, {{"CARPOOL_SHIM_LIMIT", std::to_string(105 * kMegabyte)}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("pieces"), 10U);
  EXPECT_EQ(seen.at("refused_with"), kOutOfMemory);
  EXPECT_EQ(seen.at("free"), 105 * kMegabyte);
  EXPECT_EQ(seen.at("total"), 105 * kMegabyte);
  EXPECT_EQ(seen.at("device_total"), 105 * kMegabyte);
  EXPECT_EQ(seen.at("free_when_full"), 5 * kMegabyte);
  EXPECT_EQ(seen.at("allocations"), 10U);
  EXPECT_EQ(seen.at("refusals"), 1U);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
  EXPECT_EQ(seen.at("peak_bytes"), 100 * kMegabyte);
}

TEST_F(Shim, TellsTheDriversNumbersWithoutAQuota) {
  settings("memory = 64");
  const Values seen = run({"lookup", "fill", "10"});
  EXPECT_EQ(seen.at("total"), 64 * kMegabyte);
  EXPECT_EQ(seen.at("device_total"), 64 * kMegabyte);
  EXPECT_EQ(seen.at("pieces"), 6U);
  EXPECT_EQ(seen.at("refused_with"), kOutOfMemory);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
}

// The driver would refuse if the processes together exceeded the quota: it has no more than that.
TEST_F(Shim, RacingProcessesOfAJobNeverExceedItsQuotaTogether) {
  settings("memory = 40");
  const Environment job{{"CARPOOL_SHIM_JOB", "12"},
                        {"CARPOOL_SHIM_LIMIT", std::to_string(40 * kMegabyte)}};
  std::vector<std::thread> processes;
  std::array<Values, 8> seen;
  processes.reserve(seen.size());
  for (Values& values : seen) {
    processes.emplace_back([&] { values = run({"lookup", "race", "20"}, job); });
  }
  for (std::thread& process : processes) {
    process.join();
  }
  std::uint64_t refusals = 0;
  for (const Values& values : seen) {
    refusals += values.at("refusals");
  }
  EXPECT_GE(refusals, 8U * 20U);
  const Values last = run({"lookup", "race", "1"}, job);
  EXPECT_EQ(last.at("most"), 40U);  // the charge of the others has gone with them
  EXPECT_EQ(last.at("driver_refused"), 0U);
}

TEST_F(Shim, GivesBackWhatTheDriverRefuses) {
  settings("fail.cuMemAlloc_v2 = 2");
  const Values seen = run({"lookup", "fill", "10"});
  EXPECT_EQ(seen.at("pieces"), 0U);
  EXPECT_EQ(seen.at("refused_with"), kOutOfMemory);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
  EXPECT_EQ(seen.at("peak_bytes"), 10 * kMegabyte);
}

TEST_F(Shim, ChargesEveryFamilyOfAllocationsUntilItIsFreed) {
  const Values seen =
      run({"lookup", "families"}, {{"CARPOOL_SHIM_LIMIT", std::to_string(1000 * kMegabyte)}});
  EXPECT_EQ(seen.at("failures"), 0U);
  for (const char* family : {"managed", "pitched", "stream_ordered", "array", "physical"}) {
    EXPECT_EQ(seen.at(family), 8 * kMegabyte) << family;
  }
  // Released by its owner, but still mapped.
  EXPECT_EQ(seen.at("physical_mapped"), 8 * kMegabyte);
  EXPECT_EQ(seen.at("physical_gone"), 0U);
  if (seen.contains("host")) {
    EXPECT_EQ(seen.at("host"), 0U);
  }
  EXPECT_EQ(seen.at("at_end"), 0U);
  EXPECT_NE(seen.at("foreign_free"), 0U);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
}

TEST_F(Shim, ChargesTheMemoryOfAGraphWhenItIsMadeExecutable) {
  const Environment quota{{"CARPOOL_SHIM_LIMIT", std::to_string(10 * kMegabyte)}};
  const Values seen = run({"lookup", "graph-memory", "8"}, quota);
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("captured"), 0U);
  EXPECT_EQ(seen.at("made"), 0U);
  EXPECT_EQ(seen.at("executable"), 8 * kMegabyte);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
  EXPECT_EQ(run({"lookup", "graph-memory", "12"}, quota).at("made"), kOutOfMemory);
}

// A pool that holds more than is left gives it back before a request is refused, as it does where
// the memory of the GPU itself runs out.
TEST_F(Shim, GivesBackWhatAPoolKeepsBeforeItRefuses) {
  const Values seen =
      run({"lookup", "pool-growth", "8"}, {{"CARPOOL_SHIM_LIMIT", std::to_string(12 * kMegabyte)}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("larger"), 0U);
  EXPECT_EQ(seen.at("beyond"), kOutOfMemory);
  EXPECT_LE(seen.at("peak_bytes"), 12 * kMegabyte);
}

TEST_F(Shim, ChargesWhatAPoolKeeps) {
  const Values seen =
      run({"lookup", "pool", "8"}, {{"CARPOOL_SHIM_LIMIT", std::to_string(12 * kMegabyte)}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("kept"), 8 * kMegabyte);
  EXPECT_EQ(seen.at("in_use"), kOutOfMemory);
  EXPECT_EQ(seen.at("beside_it"), 0U);
  EXPECT_EQ(seen.at("trimmed"), 0U);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
}

TEST_F(Shim, GivesBackTheMemoryOfAContextThatIsDestroyed) {
  const Values seen = run({"symbol", "contexts", "3"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("allocations"), 4U);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
}

TEST_F(Shim, TellsTheLimitOfAGpuWithoutJoiningItsState) {
  settings("gpus = 3");
  const Values seen =
      run({"lookup", "total-memory", "3"}, {{"CARPOOL_SHIM_LIMIT", std::to_string(5U << 20U)}});
  EXPECT_EQ(seen.at("failures"), 0U);
  for (const char* name : {"total_0", "total_1", "total_2"}) {
    EXPECT_EQ(seen.at(name), 5U << 20U) << name;
  }
  EXPECT_EQ(seen.at("gpus"), 1U);  // that of the program's context
}

}  // namespace
}  // namespace carpool::shim_test
