#include "app/server/energy/energy_file.hpp"

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"
#include "base/files/file.hpp"

namespace carpool::app {
namespace {

using schedule::EnergyRecord;

EnergyRecord one_run(double joules, unsigned attempt = 1) {
  return {.attempts = {{.run = {7, attempt}, .joules = joules}},
          .gpus = {{.uuid = "GPU-a", .joules = 1000.0 + joules, .runs = {{7, attempt}}}}};
}

TEST(EnergyFile, KeepsWhatItIsGiven) {
  const TemporaryFolder folder;
  EnergyFile file(folder.path(), 0.0);
  EXPECT_EQ(file.read(), EnergyRecord{});
  file.keep({});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "energy"));
  file.keep(one_run(0.1 + 0.2));
  EXPECT_EQ(EnergyFile(folder.path()).read(), one_run(0.1 + 0.2));
  file.keep({});
  EXPECT_EQ(file.read(), EnergyRecord{});
}

TEST(EnergyFile, IsWrittenAtOnceOnlyWhereOtherAttemptsRun) {
  const TemporaryFolder folder;
  EnergyFile file(folder.path(), 1e9);
  file.keep(one_run(1.0));
  file.keep(one_run(2.0));
  EXPECT_EQ(file.read(), one_run(1.0));
  file.keep(one_run(3.0, 2));
  EXPECT_EQ(file.read(), one_run(3.0, 2));
}

TEST(EnergyFile, ADamagedFileCountsAsNone) {
  const TemporaryFolder folder;
  for (const char* text : {"",
                           "{",
                           "[]",
                           R"({"version": 2, "attempts": [], "gpus": []})",
                           R"({"version": 1, "attempts": 3, "gpus": []})",
                           R"({"version": 1, "attempts": [{"job": 1}], "gpus": []})",
                           R"({"version": 1, "attempts": [], "gpus": [{"uuid": "GPU-a"}]})"}) {
    ASSERT_TRUE(write_file(folder.path() / "energy", text));
    EXPECT_EQ(EnergyFile(folder.path()).read(), EnergyRecord{}) << text;
  }
}

}  // namespace
}  // namespace carpool::app
