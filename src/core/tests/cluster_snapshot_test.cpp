#include "core/cluster_snapshot.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(GpuView, IsEmptyWhenItsLastResidentEnds) {
  GpuView gpu;
  EXPECT_EQ(gpu.empty_after_s(), 0.0);
  gpu.residents = {{.job = 1, .remaining_s = 30.0}, {.job = 2, .remaining_s = 10.0}};
  EXPECT_EQ(gpu.empty_after_s(), 30.0);
  gpu.residents[1].remaining_s.reset();
  EXPECT_EQ(gpu.empty_after_s(), kNoTime);
}

TEST(SoonestFree, TakesTheFirstGpusAndOfEqualsTheFirstByNumber) {
  const auto two = soonest_free({{50.0, 0}, {20.0, 1}, {50.0, 2}, {20.0, 3}}, 3);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->gpus, (std::vector<std::size_t>{1, 3, 0}));
  EXPECT_EQ(two->after_s, 50.0);
  EXPECT_FALSE(soonest_free({{1.0, 0}}, 2));
  EXPECT_FALSE(soonest_free({{1.0, 0}}, 0));
}

}  // namespace
}  // namespace carpool
