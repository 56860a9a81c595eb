// Rules that rank groups by one number, without training.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/group.hpp"
#include "core/profile.hpp"
#include "dataset/dataset.hpp"

namespace carpool::model {

struct Rule {
  std::string_view name;
  std::string_view description;
  bool needs_truth = false;  // needs the measured sums: rule_preferences() fails
  std::string_view metric;   // empty: the solo throughput
  dataset::Combine combine = dataset::Combine::Sum;
  double sign = 1.0;  // -1: the smallest value wins
};

[[nodiscard]] std::span<const Rule> rules();

// Unknown name: an error that lists the known ones.
[[nodiscard]] Result<const Rule*> find_rule(std::string_view name);

// One number per candidate, higher is better. The published choice among equals is the first
// candidate, in the order of the split's test rows. Unsupported when no profile has the metric or
// when the rule needs the truth.
[[nodiscard]] Result<std::vector<double>> rule_preferences(const Rule& rule,
                                                           std::span<const Profile> profiles,
                                                           std::span<const Group> candidates);

}  // namespace carpool::model
