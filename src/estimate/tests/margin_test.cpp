#include "estimate/bound/margin.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::estimate {
namespace {

TEST(ConformalMargin, CoversTheShareOfItsConfidence) {
  std::vector<LogError> errors;
  errors.reserve(200);
  for (int index = 0; index < 200; ++index) {
    errors.push_back({.family = index % 2 == 0 ? "a" : "b", .value = 0.001 * index});
  }
  const ConformalMargin margin = ConformalMargin::of(errors, 0.9);
  int covered = 0;
  for (const LogError& error : errors) {
    covered += error.value <= std::log(margin.factor(error.family, 0.9)) + 1e-12 ? 1 : 0;
  }
  EXPECT_GE(covered, 180);
  EXPECT_LT(covered, 200);
  EXPECT_EQ(margin.factor("unknown", 0.9),
            std::max(margin.factor("a", 0.9), margin.factor("b", 0.9)));
}

TEST(ConformalMargin, TheTailsOfOnePoolDoNotWidenAnother) {
  std::vector<LogError> errors;
  errors.reserve(200);
  for (int index = 0; index < 100; ++index) {
    errors.push_back({.family = "even", .pool = "even", .value = 0.0001 * index});
    errors.push_back(
        {.family = "wild", .pool = "wild", .value = index < 90 ? 0.0001 * index : 3.0});
  }
  const ConformalMargin margin = ConformalMargin::of(errors, 0.99);
  EXPECT_LT(margin.factor("even", 0.99), 1.03);
  EXPECT_GT(margin.factor("wild", 0.99), 10.0);
  // An unknown family has the factor of its pool.
  EXPECT_EQ(margin.factor("new", 0.99, 0.0, "even"), margin.factor("even", 0.99));
  EXPECT_EQ(margin.factor("new", 0.99, 0.0, "no such pool"), margin.factor("wild", 0.99));
  const auto again = ConformalMargin::from_json(margin.to_json());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->factor("wild", 0.99), margin.factor("wild", 0.99));
  EXPECT_EQ(again->factor("even", 0.99), margin.factor("even", 0.99));
}

// A tenth of the jobs need the largest conceivable memory, which differs from job to job.
std::vector<LogError> spread_errors() {
  std::vector<LogError> errors;
  errors.reserve(200);
  for (int index = 0; index < 200; ++index) {
    const double spread = 0.02 * index;
    errors.push_back({.family = "spread",
                      .pool = "spread",
                      .value = index % 10 == 0 ? spread : 0.0,
                      .spread = spread});
  }
  return errors;
}

TEST(ConformalMargin, TheBoundEndsAtTheLargestConceivableValue) {
  const ConformalMargin margin = ConformalMargin::of(spread_errors(), 0.99);
  EXPECT_LT(margin.factor("spread", 0.99, 0.0), 1.1);
  const double most = margin.factor("spread", 0.99, 2.0);
  EXPECT_GE(most, std::exp(1.9));
  EXPECT_LT(most, std::exp(2.2));
}

TEST(ConformalMargin, WithoutSpreadsAllBoundsAreWide) {
  std::vector<LogError> blind = spread_errors();
  for (LogError& error : blind) {
    error.spread = 0.0;
  }
  const ConformalMargin margin = ConformalMargin::of(blind, 0.99);
  EXPECT_GT(margin.factor("spread", 0.99), std::exp(3.0));
}

TEST(ConformalMargin, AnUninformativeSpreadIsNotUsed) {
  std::vector<LogError> errors;
  errors.reserve(200);
  for (int index = 0; index < 200; ++index) {
    errors.push_back({.family = "calm", .pool = "calm", .value = 0.0001 * index, .spread = 3.0});
  }
  EXPECT_LT(ConformalMargin::of(errors, 0.99).factor("calm", 0.99, 3.0), 1.1);
}

TEST(ConformalMargin, AStoredMarginMustBeConsistent) {
  nlohmann::json stored = ConformalMargin::of(spread_errors(), 0.99).to_json();
  EXPECT_TRUE(ConformalMargin::from_json(stored));
  stored["families"]["spread"]["pool"] = "another";
  EXPECT_FALSE(ConformalMargin::from_json(stored));
}

}  // namespace
}  // namespace carpool::estimate
