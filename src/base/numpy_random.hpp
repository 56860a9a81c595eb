// Random numbers that agree, draw for draw, with NumPy's legacy RandomState. The published splits
// were made with pandas and scikit-learn, which draw from it: the same seed must give the same
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace carpool {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : engine_(seed) {}

  // Uniform integer in [0, max], by NumPy's masked rejection.
  [[nodiscard]] std::uint32_t interval(std::uint32_t max);

  // Uniform double in [0, 1) with 53 bits, as RandomState.random_sample.
  [[nodiscard]] double uniform();

  // Standard normal deviate by the polar method, as RandomState.standard_normal.
  [[nodiscard]] double normal();

  // 0 … count-1 in random order, as RandomState.permutation.
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t count);

 private:
  std::mt19937 engine_;
  bool has_spare_normal_ = false;
  double spare_normal_ = 0.0;
};

struct HoldOut {
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
};

// scikit-learn's train_test_split on the positions 0 … count-1.
[[nodiscard]] HoldOut train_test_split(std::size_t count, double test_fraction, std::uint32_t seed);

}  // namespace carpool
