// The Adam optimizer (Kingma and Ba, 2015, algorithm 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace carpool::learn {

// With gradient g, step t, β₁ = 0.9, β₂ = 0.999: m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g²,
// then
//   Keras    x ← x - rate √(1 - β₂ᵗ) / (1 - β₁ᵗ) m / (√v + 10⁻⁷)
//   PyTorch  x ← x - rate (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + 10⁻⁸)
// Each is evaluated in the order of operations of its library, so that published models that were
// trained with either are reproduced to the last digit.
class Adam {
 public:
  enum class Variant : std::uint8_t { Keras, PyTorch };

  Adam(Variant variant, double learning_rate) : variant_(variant), learning_rate_(learning_rate) {}

  // Every step updates the same parameters in the same order.
  void begin_step();
  // Values: a container or an Eigen matrix of doubles.
  template <class Values>
  void update(Values& values, const Values& gradient) {
    apply({values.data(), static_cast<std::size_t>(values.size())},
          {gradient.data(), static_cast<std::size_t>(gradient.size())});
  }

 private:
  struct Moments {
    Eigen::ArrayXd mean;
    Eigen::ArrayXd square;
  };

  void apply(std::span<double> values, std::span<const double> gradient);

  Variant variant_;
  double learning_rate_;
  double step_ = 0.0;
  double mean_power_ = 1.0;    // β₁ᵗ
  double square_power_ = 1.0;  // β₂ᵗ
  std::size_t next_ = 0;       // index of the moments for the next update() of this step
  std::vector<Moments> moments_;
};

}  // namespace carpool::learn
