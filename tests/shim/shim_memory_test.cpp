// The quota in a program that knows nothing of it.
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

}  // namespace
}  // namespace carpool::shim_test
