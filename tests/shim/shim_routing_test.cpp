// cuGetProcAddress of libcarpool_cuda.so.
#include "shim_fixture.hpp"

namespace carpool::shim_test {
namespace {

TEST_F(Shim, AnswersEveryLookUpWithItsOwnFunctionOfTheSameNameVersionAndTwin) {
  const Values seen = run({"symbol", "routes"});
  EXPECT_GT(seen.at("asked"), 150U);
  EXPECT_GT(seen.at("wrapped"), 80U);
  EXPECT_EQ(seen.at("wrong"), 0U);
}

TEST_F(Shim, HandsOutTheDriversFunctionsWhenItIsOff) {
  const Values seen = run({"symbol", "routes"}, {{"CARPOOL_SHIM", "off"}});
  EXPECT_EQ(seen.at("wrapped"), 0U);
}

TEST_F(Shim, ReportsAsAbsentWhatTheDriverLacks) {
  settings("missing = cuLaunchKernelEx cuLaunchKernelEx_ptsz");
  const Values seen = run({"symbol", "absent"});
  EXPECT_EQ(seen.at("found"), 0U);
  EXPECT_EQ(seen.at("symbol_status"), 1U);  // not found
}

}  // namespace
}  // namespace carpool::shim_test
