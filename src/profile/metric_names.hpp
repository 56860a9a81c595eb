// The metrics that a profile may hold, by their names in datasets (docs/profiling.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "dataset/dataset.hpp"

namespace carpool::profile {

// By column name; a metric that was not measured is absent.
using Metrics = std::map<std::string, double, std::less<>>;

struct KnownMetric {
  std::string_view name;
  dataset::Combine combine = dataset::Combine::Mean;  // over the members of a group
  std::string_view group;                             // of dataset.toml
  std::string_view meaning;                           // with its unit
};

[[nodiscard]] std::span<const KnownMetric> known_metrics();

// Null for a name that no profile of this version has.
[[nodiscard]] const KnownMetric* find_metric(std::string_view name);

}  // namespace carpool::profile
