// libcarpool_cuda.so in a program: what it counts, and that the program does not notice it.
#include "shim_fixture.hpp"

namespace carpool::shim_test {
namespace {

class ShimDoors : public Shim, public testing::WithParamInterface<const char*> {};

TEST_P(ShimDoors, SeesEveryLaunchOnTheLegacyAndThePerThreadStream) {
  const Values seen = run({GetParam(), "launches", "7"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("driver_kernel_launches"), 42U);
  EXPECT_EQ(seen.at("launches"), 42U);
  EXPECT_EQ(seen.at("clients"), 1U);
}

TEST_P(ShimDoors, SeesCopiesAndFills) {
  const Values seen = run({GetParam(), "copies"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("copies"), seen.at("driver_copies") + seen.at("driver_sets"));
  EXPECT_EQ(seen.at("copied_bytes"), 1234U);
  EXPECT_EQ(seen.at("copied_bytes"), seen.at("driver_copy_bytes") + seen.at("driver_set_bytes"));
}

INSTANTIATE_TEST_SUITE_P(Doors, ShimDoors, testing::Values("link", "symbol", "lookup"));

class ShimCaptures : public Shim, public testing::WithParamInterface<const char*> {
 protected:
  // One kernel runs beside the capture, two after it; five are in the graph.
  static void check(const Values& seen) {
    EXPECT_EQ(seen.at("failures"), 0U);
    EXPECT_EQ(seen.at("driver_capture_violations"), 0U);
    EXPECT_EQ(seen.at("graph_launches"), 10U);
    EXPECT_EQ(seen.at("graph_nodes"), 50U);
    EXPECT_EQ(seen.at("driver_graph_kernel_nodes"), 50U);
    EXPECT_EQ(seen.at("driver_kernel_launches"), 3U);
    EXPECT_EQ(seen.at("launches"), 3U);
  }
};

TEST_P(ShimCaptures, CountsKernelsOfAGraphWhenItRuns) {
  check(run({"lookup", std::string("graphs-") + GetParam(), "10"}));
}

TEST_P(ShimCaptures, AsksTheDriverForNoNamesWhileACaptureIsAlive) {
  run({"lookup", "start"});
  want_log();
  const Values seen = run({"lookup", std::string("graphs-") + GetParam(), "10"});
  check(seen);
  // The launch beside the capture has no name yet; the first one after it asks for it.
  EXPECT_EQ(seen.at("logged"), 3U);
  EXPECT_EQ(seen.at("logged_by_name"), 2U);
  EXPECT_EQ(seen.at("driver_name_queries"), 1U);
}

// "beside-another": the graph is made executable while another stream is captured.
INSTANTIATE_TEST_SUITE_P(Modes,
                         ShimCaptures,
                         testing::Values("global", "thread", "relaxed", "beside-another"));

TEST_F(Shim, CountsLaunchesOfManyThreads) {
  const Values seen = run({"lookup", "threads", "100"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launches"), 2400U);
}

TEST_F(Shim, LogsLaunchesWhenALogIsWanted) {
  EXPECT_EQ(run({"lookup", "launches", "10"}).at("logged"), 0U);
  want_log();
  const Values seen = run({"lookup", "launches", "10"});
  EXPECT_EQ(seen.at("logged"), 60U);
  EXPECT_EQ(seen.at("logged_by_name"), 60U);
}

TEST_F(Shim, CountsNothingWhenItIsOff) {
  const Values seen = run({"lookup", "launches", "3"}, {{"CARPOOL_SHIM", "off"}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("driver_kernel_launches"), 18U);
  EXPECT_FALSE(seen.contains("launches"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
}

TEST_F(Shim, CreatesNothingInAProgramThatDoesNotUseCuda) {
  const Values seen = run({"symbol", "start"}, {{"CARPOOL_REAL_LIBCUDA", "/nowhere/libcuda.so.1"}});
  EXPECT_EQ(seen.at("init"), 100U);  // no device, as without a driver
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
}

TEST_F(Shim, RefusesToTakeItselfForTheDriver) {
  const Values seen = run({"symbol", "start"}, {{"CARPOOL_REAL_LIBCUDA", shim_library()}});
  EXPECT_EQ(seen.at("init"), 100U);
}

TEST_F(Shim, FindsTheDriverAsTheLoaderWould) {
  const Values seen =
      run({"symbol", "launches", "1"},
          {{"CARPOOL_REAL_LIBCUDA", ""},
           {"LD_LIBRARY_PATH", std::filesystem::path(fake_driver()).parent_path()}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launches"), 6U);
}

TEST_F(Shim, PassesCallsOnWhenThereIsNoSharedState) {
  std::ofstream(folder_ / "file") << "not a folder";
  const Values seen =
      run({"lookup", "launches", "3"}, {{"CARPOOL_STATE_DIR", (folder_ / "file").string()}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("driver_kernel_launches"), 18U);
}

TEST_F(Shim, ChildOfAForkDoesNotCountForItsParent) {
  const Values seen = run({"symbol", "fork", "5"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launches"), 60U);
  EXPECT_EQ(seen.at("allocations"), 0U);
  EXPECT_EQ(seen.at("clients"), 1U);
}

TEST_F(Shim, ChildOfAForkDoesNotWaitForThreadsThatItDoesNotHave) {
  const Values seen = run({"symbol", "busy-fork", "50"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("used_bytes"), 0U);
}

TEST_F(Shim, WorksBeforeMainBegins) {
  const Values seen = run({"lookup", "launches", "2"}, {{"SHIM_TEST_EARLY", "1"}});
  EXPECT_EQ(seen.at("early_init"), 0U);
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launches"), 12U);
}

TEST_F(Shim, GoesOnInAProgramThatThisProgramStarts) {
  const Values seen = run({"symbol", "exec", "5"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launches"), 30U);
}

TEST_F(Shim, CountsForTheGpuOfTheCurrentContext) {
  settings("gpus = 3");
  const Values seen = run({"symbol", "gpus", "3"});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("gpus"), 3U);
  EXPECT_EQ(seen.at("used_bytes"), 7U << 20U);
}

TEST_F(Shim, PassesTheErrorsOfTheDriverOn) {
  settings("fail.cuInit = 999");
  EXPECT_EQ(run({"symbol", "start"}).at("init"), 999U);
}

}  // namespace
}  // namespace carpool::shim_test
