#include "gpu/cupti/inject/metric_table.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace carpool::inject {
namespace {

bool is_realtime(const char* name) {
  return std::string_view(name).find("_realtime") != std::string_view::npos;
}

TEST(MetricTable, EveryQuantityIsSampledWhereAllCanBeHadInOnePass) {
  const auto chosen = choose_metrics([](const char*) { return std::size_t{1}; });
  ASSERT_EQ(chosen.size(), wanted_metrics().size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_STREQ(chosen[i], wanted_metrics()[i].names[0]);
  }
}

TEST(MetricTable, AnotherNameIsTakenWhereTheFirstIsNotToBeHad) {
  const auto chosen =
      choose_metrics([](const char* name) -> std::size_t { return is_realtime(name) ? 0 : 1; });
  ASSERT_EQ(chosen.size(), wanted_metrics().size());
  EXPECT_STREQ(chosen[1], "sm__warps_active.avg.pct_of_peak_sustained_elapsed");
}

TEST(MetricTable, WhatNeedsSeveralPassesIsLeftOut) {
  const auto chosen = choose_metrics([](const char* name) -> std::size_t {
    return std::string_view(name).starts_with("dram__throughput") ? 2 : 1;
  });
  EXPECT_EQ(chosen.size(), wanted_metrics().size() - 1);
  EXPECT_TRUE(choose_metrics([](const char*) { return std::size_t{0}; }).empty());
}

}  // namespace
}  // namespace carpool::inject
