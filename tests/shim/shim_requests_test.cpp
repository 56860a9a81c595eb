// How the requests of an SLO process are found: by its calls, by its declarations, by NVTX ranges.
#include "shim_gate_fixture.hpp"

namespace carpool::shim_test {
namespace {

using ShimRequests = ShimGate;

TEST_F(ShimRequests, DeclaredRequestsAreBelieved) {
  const Values seen = run({"symbol", "declared", "7"}, slo());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 7U);
}

TEST_F(ShimRequests, ADeclaredRequestEndsWhereItBegan) {
  settings("gpus = 2");
  const Values seen = run({"symbol", "declared-on-two", "7"}, slo());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests_on_all_gpus"), 7U);
}

// The last one has not been followed by another; a thread that the system stops may begin one more.
TEST_F(ShimRequests, ACopyThatReturnsWhenItIsDoneEndsARequest) {
  const Values seen = run({"lookup", "serve-plainly", "30"}, slo());
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_GE(seen.at("requests"), 29U);
}

class ShimNvtx : public ShimGate, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static Environment with_ranges(Environment more) {
    more["NVTX_INJECTION64_PATH"] = shim_library();
    return more;
  }
};

TEST_P(ShimNvtx, RangesOfTheNameAreRequests) {
  const Values seen = run({"lookup", GetParam()}, with_ranges(slo()));
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 8U);
}

TEST_P(ShimNvtx, TheNameCanBeChosen) {
  Environment more = with_ranges(slo());
  more["CARPOOL_SHIM_NVTX"] = "other";
  const Values seen = run({"lookup", GetParam()}, more);
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("requests"), 1U);
}

TEST_P(ShimNvtx, AProgramWithoutAnSloHasNoRequests) {
  for (const Environment& more : {best_effort(), Environment{{"CARPOOL_SHIM", "off"}}}) {
    EXPECT_EQ(run({"lookup", GetParam()}, with_ranges(more)).at("failures"), 0U);
  }
}

#ifdef SHIM_TEST_NVTX_HEADER
INSTANTIATE_TEST_SUITE_P(Clients, ShimNvtx, testing::Values("nvtx", "nvtx-header"));
#else
INSTANTIATE_TEST_SUITE_P(Clients, ShimNvtx, testing::Values("nvtx"));
#endif

}  // namespace
}  // namespace carpool::shim_test
