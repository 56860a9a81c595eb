// Workloads that slow each other down by a law of their own, seen through noisy counters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge::fake {

class SyntheticTruth {
 public:
  SyntheticTruth(std::uint32_t seed, std::size_t workloads) : random_(seed) {
    contention_ = std::exp(normal(0.3)) * 1.2;
    tilt_ = 2.0 + normal(0.8);
    for (std::size_t i = 0; i < workloads; ++i) {
      activity_.push_back(std::uniform_real_distribution(0.1, 0.95)(random_));
      speed_.push_back(std::exp(normal(1.5)));
      sensitivity_.push_back(std::exp(normal(0.35)));
      pressure_.push_back(std::exp(normal(0.35)));
    }
    for (std::size_t i = 0; i < workloads * workloads; ++i) {
      pair_.push_back(std::exp(normal(0.2)));
    }
  }

  [[nodiscard]] static std::string name(std::size_t workload) {
    return mine("w" + std::to_string(workload));
  }
  [[nodiscard]] double activity(std::size_t workload) const { return activity_[workload]; }

  [[nodiscard]] std::vector<double> progress(const std::vector<std::size_t>& group) const {
    std::vector<double> made;
    for (std::size_t i = 0; i < group.size(); ++i) {
      double cost = 0.0;
      for (std::size_t j = 0; j < group.size(); ++j) {
        cost += j == i ? 0.0 : pair_cost(group[i], group[j]);
      }
      // Larger groups cost a little more than the sum of their pairs.
      made.push_back(1.0 / (1.0 + cost * std::pow(static_cast<double>(group.size()) / 2.0, 0.2)));
    }
    return made;
  }

  // A group without copies, of at most `most` members.
  [[nodiscard]] std::vector<std::size_t> any_group(std::size_t least, std::size_t most) {
    std::vector<std::size_t> all(activity_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::uniform_int_distribution<std::size_t>(least, most)(random_));
    return all;
  }

  // The group runs for a while before the eyes of the learner. Returns the time of the end.
  double run(Learner& learner,
             const std::vector<std::size_t>& group,
             double from_s,
             double for_s,
             bool rates = true) {
    const std::vector<double> shares = progress(group);
    double sum = 0.0;
    Watch told{.from_s = from_s, .for_s = for_s};
    for (std::size_t i = 0; i < group.size(); ++i) {
      told.workloads.push_back(name(group[i]));
      sum += activity_[group[i]] * shares[i];
    }
    double drift = normal(0.04);  // noise that lasts some seconds
    told.sm_active = [this, sum, drift]() mutable {
      drift = 0.7 * drift + 0.7 * normal(0.04);
      return std::clamp(std::min(sum, 1.0) + drift, 0.0, 1.0);
    };
    if (rates) {
      told.rate = [this, shares, group](std::size_t i) {
        return speed_[group[i]] * shares[i] * std::exp(normal(0.03));
      };
    }
    return watch(learner, told);
  }

 private:
  [[nodiscard]] double pair_cost(std::size_t slowed, std::size_t by) const {
    return contention_ * activity_[by] * activity_[by] *
           std::exp(tilt_ * std::clamp(activity_[by] - activity_[slowed], -0.5, 0.5)) *
           sensitivity_[slowed] * pressure_[by] * pair_[slowed * activity_.size() + by];
  }
  double normal(double deviation) {
    return std::normal_distribution<double>(0.0, deviation)(random_);
  }

  std::mt19937 random_;
  double contention_ = 1.0;
  double tilt_ = 0.0;
  std::vector<double> activity_;
  std::vector<double> speed_;
  std::vector<double> sensitivity_;
  std::vector<double> pressure_;
  std::vector<double> pair_;
};

}  // namespace carpool::knowledge::fake
