#include "learn/adam.hpp"

#include <cmath>

namespace carpool::learn {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kKerasEpsilon = 1e-7;
constexpr double kPyTorchEpsilon = 1e-8;

}  // namespace

void Adam::begin_step() {
  next_ = 0;
  step_ += 1.0;
  if (variant_ == Variant::Keras) {
    mean_power_ *= kMeanDecay;
    square_power_ *= kSquareDecay;
  } else {
    mean_power_ = std::pow(kMeanDecay, step_);
    square_power_ = std::pow(kSquareDecay, step_);
  }
}

void Adam::apply(std::span<double> values, std::span<const double> gradient) {
  const auto size = static_cast<Eigen::Index>(values.size());
  if (next_ == moments_.size()) {
    moments_.push_back({.mean = Eigen::ArrayXd::Zero(size), .square = Eigen::ArrayXd::Zero(size)});
  }
  auto& [mean, square] = moments_[next_++];
  Eigen::Map<Eigen::ArrayXd> value(values.data(), size);
  const Eigen::Map<const Eigen::ArrayXd> slope(gradient.data(), size);
  mean = kMeanDecay * mean + (1.0 - kMeanDecay) * slope;
  square = kSquareDecay * square + (1.0 - kSquareDecay) * slope.square();
  if (variant_ == Variant::Keras) {
    const double rate = learning_rate_ * std::sqrt(1.0 - square_power_) / (1.0 - mean_power_);
    value -= rate * mean / (square.sqrt() + kKerasEpsilon);
  } else {
    const double mean_bias = 1.0 - mean_power_;
    const double square_bias = 1.0 - square_power_;
    value -=
        learning_rate_ * (mean / mean_bias) / ((square / square_bias).sqrt() + kPyTorchEpsilon);
  }
}

}  // namespace carpool::learn
