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

TEST(GpuFilter, TakesIndicesAndPartsOfNamesInAnyCase) {
  const GpuView gpu{.index = 1, .name = "NVIDIA H200"};
  EXPECT_TRUE(passes({}, gpu));
  EXPECT_TRUE(passes({.indices = {0, 1}}, gpu));
  EXPECT_FALSE(passes({.indices = {0}}, gpu));
  EXPECT_TRUE(passes({.type = "h200"}, gpu));
  EXPECT_FALSE(passes({.type = "A100"}, gpu));
  EXPECT_FALSE(passes({.indices = {0}, .type = "h200"}, gpu));
  EXPECT_EQ(filter_words({.indices = {0, 1}}), "GPU 0 or 1");
  EXPECT_EQ(filter_words({.type = "H200"}), "H200 GPUs");
  EXPECT_EQ(filter_words({.indices = {3}, .type = "H200"}), "H200 GPUs with index 3");
}

}  // namespace
}  // namespace carpool
