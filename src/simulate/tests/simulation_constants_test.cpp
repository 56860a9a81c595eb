#include "simulate/simulation_constants.hpp"

#include <gtest/gtest.h>

#include "base/statistics.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/draws.hpp"
#include "simulate/pressure_window.hpp"

namespace carpool::simulate {
namespace {

TEST(StartUps, AreSpreadAsPublished) {
  const SimulationConstants constants;
  constexpr std::uint64_t kJobs = 20'000;
  std::vector<double> delays;
  delays.reserve(kJobs);
  for (std::uint64_t job = 0; job < kJobs; ++job) {
    delays.push_back(start_delay_s(constants, 1, job, 1));
  }
  EXPECT_NEAR(quantile(delays, 0.5), 8.2, 0.2);
  EXPECT_NEAR(quantile(delays, 0.95), 20.6, 0.8);
  EXPECT_LE(quantile(delays, 1.0), 55.0);
  EXPECT_EQ(start_delay_s(constants, 1, 7, 2), start_delay_s(constants, 1, 7, 2));
  EXPECT_NE(start_delay_s(constants, 1, 7, 2), start_delay_s(constants, 1, 7, 3));
}

TEST(Power, FollowsThePublishedPoints) {
  const SimulationConstants constants;
  EXPECT_NEAR(watts(constants, 0.609), 216.6, 0.1);
  EXPECT_NEAR(watts(constants, 0.853), 253.8, 0.1);
}

TEST(PressureWindow, ScoresOldActivityUntilItLeavesTheWindow) {
  const SimulationConstants constants;
  PressureWindow window;
  window.change(0.0, {.sm_active = 0.8});
  window.change(100.0, {});
  EXPECT_NEAR(window.summary(constants, 99.0).sm_active, 0.8, 1e-12);
  const double middle = window.summary(constants, 115.0).sm_active;
  EXPECT_GT(middle, 0.1);
  EXPECT_LT(middle, 0.8);
  EXPECT_EQ(window.summary(constants, 130.0).sm_active, 0.0);
}

TEST(Draws, HaveTheirDistributionsAndAreIndependentOfOrder) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    sum += draw_uniform(3, i, 0);
    squares += draw_normal(3, i, 0) * draw_normal(3, i, 0);
  }
  EXPECT_NEAR(sum / 10000.0, 0.5, 0.01);
  EXPECT_NEAR(squares / 10000.0, 1.0, 0.05);
  const double early = draw_uniform(3, 7, 1);
  static_cast<void>(draw_uniform(3, 8, 0));
  EXPECT_EQ(draw_uniform(3, 7, 1), early);
  EXPECT_NE(draw_uniform(3, 7, 2), early);
}

TEST(Clusters, AreReadAndRefused) {
  const auto known = parse_cluster("4xA100-40").value();
  EXPECT_EQ(known.gpus, 4);
  EXPECT_EQ(known.memory_bytes, 40960 * kMebibyte);
  EXPECT_EQ(parse_cluster("8x24GiB").value().memory_bytes, 24'576 * kMebibyte);
  for (const auto& [text, named] : {std::pair("", "cluster \"\""),
                                    std::pair("A100-40", "cluster \"A100-40\""),
                                    std::pair("0xA100-40", "cluster \"0xA100-40\""),
                                    std::pair("-1xA100-40", "cluster \"-1xA100-40\""),
                                    std::pair("4x", "GPU \"\""),
                                    std::pair("4xB999", "GPU \"B999\""),
                                    std::pair("4x40", "40 has no unit; write 40GiB"),
                                    std::pair("4x0GiB", "GPU \"0GiB\"")}) {
    const auto refused = parse_cluster(text);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_NE(refused.error().message.find(named), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace carpool::simulate
