// Counts of values up to bounds, in the form that Prometheus defines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace carpool::serve {

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void add(double value) {
    const auto place = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(place)];
    sum_ += value;
  }

  [[nodiscard]] std::string text(std::string_view name) const {
    std::string lines;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      total += counts_[i];
      lines += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], total);
    }
    total += counts_.back();
    return lines +
           fmt::format(
               "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, total, sum_);
  }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // the last one: above all bounds
  double sum_ = 0.0;
};

}  // namespace carpool::serve
