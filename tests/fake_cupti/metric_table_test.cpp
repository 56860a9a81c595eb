#include "gpu/cupti/inject/metric_table.hpp"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace carpool::gpu::inject {
namespace {

bool is_realtime(const char* name) {
  return std::string_view(name).find("_realtime") != std::string_view::npos;
}

TEST(MetricTable, EveryQuantityIsInASetWhereAllFitOnePass) {
  const auto sets = pack_sets([](const auto&) { return std::size_t{1}; });
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].size(), wanted_metrics().size());
}

TEST(MetricTable, SetsAreSplitWhereOnePassIsNotEnough) {
  const auto sets = pack_sets([](const auto& metrics) { return (metrics.size() + 3) / 4; });
  EXPECT_EQ(sets.size(), (wanted_metrics().size() + 3) / 4);
  for (const auto& set : sets) {
    EXPECT_LE(set.size(), 4U);
  }
}

TEST(MetricTable, AnotherNameIsTakenWhereTheFirstIsNotToBeHad) {
  const auto sets = pack_sets([](const std::vector<const char*>& metrics) -> std::size_t {
    return std::none_of(metrics.begin(), metrics.end(), is_realtime) ? 1 : 0;
  });
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].size(), wanted_metrics().size());
  EXPECT_EQ(std::string_view(sets[0][1]), "sm__warps_active.avg.pct_of_peak_sustained_elapsed");
}

TEST(MetricTable, WhatNeedsSeveralPassesByItselfIsLeftOut) {
  const auto sets = pack_sets([](const std::vector<const char*>& metrics) -> std::size_t {
    return std::string_view(metrics.front()).starts_with("dram__throughput") ? 2 : metrics.size();
  });
  EXPECT_EQ(sets.size(), wanted_metrics().size() - 1);
  EXPECT_TRUE(pack_sets([](const auto&) { return std::size_t{0}; }).empty());
}

}  // namespace
}  // namespace carpool::gpu::inject
