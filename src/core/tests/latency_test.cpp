// Which jobs let the library in front of the driver in, and whose launches wait for requests.
#include "core/latency.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

Gating gating(Environment env) {
  JobSpec spec;
  spec.job_class = JobClass::BestEffort;
  spec.env = std::move(env);
  return gating_of(spec);
}

TEST(AcceptsShim, LibrariesThatAreNotTheDriverAreNotInTheWay) {
  EXPECT_TRUE(accepts_shim({}));
  EXPECT_TRUE(accepts_shim({{"LD_PRELOAD", "/usr/lib/libjemalloc.so:/opt/libcudart.so"}}));
  EXPECT_TRUE(accepts_shim({{"CARPOOL_SHIM", ""}}));
  EXPECT_FALSE(accepts_shim({{"CARPOOL_SHIM", "off"}}));
  EXPECT_FALSE(accepts_shim({{"LD_PRELOAD", "/a.so /opt/hami/libvgpu.so"}}));
}

TEST(GatingOf, BestEffortJobsWait) {
  EXPECT_EQ(gating({}), Gating::All);
  // An unknown policy is replaced by the default one.
  for (const char* policy : {"",
                             "spacetime",
                             "time",
                             "reef-n",
                             "antman",
                             "salus",
                             "mine",
                             "hami:0",
                             "hami:500",
                             "hami:",
                             "hami50",
                             "tgs:5"}) {
    EXPECT_EQ(gating({{kGatePolicyVariable, policy}}), Gating::All) << policy;
  }
  EXPECT_EQ(gating_of(JobSpec()), Gating::None);
}

TEST(GatingOf, NotThoseThatKeepTheLibraryOutOrLimitARate) {
  EXPECT_EQ(gating({{"CARPOOL_SHIM", "off"}}), Gating::None);
  EXPECT_EQ(gating({{"LD_PRELOAD", "libnvshare.so"}}), Gating::None);
  for (const char* policy : {"tgs", "hami", "hami:50", "hami:100"}) {
    EXPECT_EQ(gating({{kGatePolicyVariable, policy}}), Gating::None) << policy;
  }
}

// Beside a service outside of MPS they are replaced.
TEST(GatingOf, PoliciesThatNeedMps) {
  for (const char* policy : {"priority", "orion"}) {
    EXPECT_EQ(gating({{kGatePolicyVariable, policy}}), Gating::OutsideOfMps) << policy;
  }
  EXPECT_TRUE(waits_for_requests(Gating::OutsideOfMps, false));
  EXPECT_FALSE(waits_for_requests(Gating::OutsideOfMps, true));
  EXPECT_TRUE(waits_for_requests(Gating::All, true));
  EXPECT_FALSE(waits_for_requests(Gating::None, false));
}

}  // namespace
}  // namespace carpool
