// Which jobs let the library in front of the driver in, and whose launches wait for requests.
#include "core/latency.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

bool waits(Environment env) {
  JobSpec spec;
  spec.job_class = JobClass::BestEffort;
  spec.env = std::move(env);
  return waits_for_requests(spec);
}

TEST(AcceptsShim, LibrariesThatAreNotTheDriverAreNotInTheWay) {
  EXPECT_TRUE(accepts_shim({}));
  EXPECT_TRUE(accepts_shim({{"LD_PRELOAD", "/usr/lib/libjemalloc.so:/opt/libcudart.so"}}));
  EXPECT_TRUE(accepts_shim({{"CARPOOL_SHIM", ""}}));
  EXPECT_FALSE(accepts_shim({{"CARPOOL_SHIM", "off"}}));
  EXPECT_FALSE(accepts_shim({{"LD_PRELOAD", "/a.so /opt/hami/libvgpu.so"}}));
}

TEST(WaitsForRequests, BestEffortJobsThatTakeTurns) {
  EXPECT_TRUE(waits({}));
  EXPECT_TRUE(waits({{kGatePolicyVariable, ""}}));
  EXPECT_TRUE(waits({{kGatePolicyVariable, "spacetime"}}));
  EXPECT_TRUE(waits({{kGatePolicyVariable, "time"}}));
  EXPECT_FALSE(waits_for_requests(JobSpec()));
}

TEST(WaitsForRequests, NotThoseThatKeepTheLibraryOutOrHaveAnotherRule) {
  EXPECT_FALSE(waits({{"CARPOOL_SHIM", "off"}}));
  EXPECT_FALSE(waits({{"LD_PRELOAD", "libnvshare.so"}}));
  EXPECT_FALSE(waits({{kGatePolicyVariable, "hami:50"}}));
  EXPECT_FALSE(waits({{kGatePolicyVariable, "tgs"}}));
}

}  // namespace
}  // namespace carpool
