// Durations of kernels that libcarpool_cuda.so learns.
#include "shim_fixture.hpp"

namespace carpool::shim_test {
namespace {

TEST_F(Shim, LearnsHowLongAKernelTakes) {
  settings("clock = virtual");
  const Values seen = run({"lookup", "timed"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_GE(seen.at("samples"), 5U);
  EXPECT_GE(seen.at("mean_ns"), 400'000U);
  EXPECT_LE(seen.at("mean_ns"), 600'000U);
  // Two a sample, and one launch of sixteen at most.
  EXPECT_LE(seen.at("event_records"), 2 * (seen.at("driver_kernel_launches") / 16 + 1));
}

TEST_F(Shim, LeavesNoEventBehindWhenTheContextEnds) {
  settings("clock = virtual");
  const Values seen = run({"lookup", "timed"});
  EXPECT_GE(seen.at("events_made"), 2U);
  EXPECT_LE(seen.at("events_made"), 128U);
  EXPECT_EQ(seen.at("events_destroyed"), seen.at("events_made"));
}

TEST_F(Shim, MeasuresNothingThatIsNotWanted) {
  const Values seen = run({"lookup", "launches", "1000"});
  EXPECT_EQ(seen.at("driver_event_records"), 0U);
}

TEST_F(Shim, MeasuresBesideCapturesWithoutBreakingThem) {
  const Values seen = run({"lookup", "timed-captures"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("driver_capture_violations"), 0U);
  EXPECT_GE(seen.at("samples"), 5U);
}

TEST_F(Shim, ChildOfAForkLeavesTheEventsOfItsParentAlone) {
  settings("clock = virtual");
  const Values seen = run({"symbol", "timed-fork"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_GE(seen.at("samples"), 5U);
}

}  // namespace
}  // namespace carpool::shim_test
