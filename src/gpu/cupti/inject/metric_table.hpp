// Which hardware counters are sampled.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace carpool::inject {

// One quantity, by the names that chips have for it; the first that can be had in one pass is used.
struct WantedMetric {
  std::array<const char*, 3> names{};  // null: no further name
};

[[nodiscard]] const std::vector<WantedMetric>& wanted_metrics();

// How many passes a metric needs; 0: not to be had.
using PassesOf = std::function<std::size_t(const char*)>;

// What is sampled, each by itself: on GH100 (CUPTI 13.0) metrics that share a pass are counted on
// a part of the SMs only, and come out at half of what ncu and GPM say.
[[nodiscard]] std::vector<const char*> choose_metrics(const PassesOf& passes);

}  // namespace carpool::inject
