#include "learn/adam.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

constexpr double kRate = 0.01;

// m = 0.1 g and v = 0.001 g²; the corrections divide by 0.1 and 0.001.
TEST(Adam, TheFirstStepAgreesWithTheFormula) {
  const std::array gradient = {3.0, -1e-7};
  std::array<double, 2> torch = {1.0, 1.0};
  Adam pytorch(Adam::Variant::PyTorch, kRate);
  pytorch.begin_step();
  pytorch.update(torch, gradient);
  EXPECT_NEAR(torch[0], 1.0 - kRate * 3.0 / (3.0 + 1e-8), 1e-15);
  EXPECT_NEAR(torch[1], 1.0 + kRate * 1e-7 / (1e-7 + 1e-8), 1e-15);
  std::array<double, 2> keras = {1.0, 1.0};
  Adam other(Adam::Variant::Keras, kRate);
  other.begin_step();
  other.update(keras, gradient);
  // The epsilon of Keras is added before the correction of v.
  const double root = std::sqrt(0.001);
  EXPECT_NEAR(keras[0], 1.0 - kRate * root * 3.0 / (root * 3.0 + 1e-7), 1e-15);
  EXPECT_NEAR(keras[1], 1.0 + kRate * root * 1e-7 / (root * 1e-7 + 1e-7), 1e-15);
}

// Gradients 1, then 2: m = 0.9 · 0.1 + 0.1 · 2 = 0.29, v = 0.999 · 0.001 + 0.001 · 4 = 0.004999.
TEST(Adam, TheSecondStepRemembersTheFirst) {
  Adam adam(Adam::Variant::PyTorch, kRate);
  std::array value = {0.0};
  adam.begin_step();
  adam.update(value, std::array{1.0});
  const double after_first = value[0];
  adam.begin_step();
  adam.update(value, std::array{2.0});
  const double mean = 0.29 / (1.0 - 0.81);
  const double square = 0.004999 / (1.0 - 0.998001);
  EXPECT_NEAR(value[0], after_first - kRate * mean / (std::sqrt(square) + 1e-8), 1e-14);
}

TEST(Adam, EachParameterHasItsOwnMoments) {
  Adam both(Adam::Variant::Keras, kRate);
  Adam single(Adam::Variant::Keras, kRate);
  std::array first = {0.0};
  std::array second = {0.0, 0.0};
  std::array expected = {0.0, 0.0};
  for (int step = 0; step < 3; ++step) {
    both.begin_step();
    both.update(first, std::array{5.0 * step - 4.0});
    both.update(second, std::array{1.0, 2.0 * step});
    single.begin_step();
    single.update(expected, std::array{1.0, 2.0 * step});
  }
  EXPECT_EQ(second, expected);
  EXPECT_NE(first[0], 0.0);
}

}  // namespace
}  // namespace carpool::learn
