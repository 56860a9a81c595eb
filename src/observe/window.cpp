#include "observe/window.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace carpool::observe {
namespace {

// Linear between the two nearest ranks; the values are sorted and not empty.
double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double exponential_mean(std::span<const double> values) {
  const double alpha = 2.0 / (static_cast<double>(values.size()) + 1.0);
  double mean = values.front();
  for (const double value : values.subspan(1)) {
    mean += alpha * (value - mean);
  }
  return mean;
}

}  // namespace

double summarise(std::span<const double> values, WindowSummary how) {
  if (values.empty()) {
    return 0.0;
  }
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (how == WindowSummary::Mean) {
    return mean;
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return 0.2 * mean + 0.3 * quantile(sorted, 0.5) + 0.3 * quantile(sorted, 0.95) +
         0.2 * exponential_mean(values);
}

void SampleWindow::add(const GpuPressure& sample) {
  last_.push_back(sample);
  if (last_.size() > samples_) {
    last_.pop_front();
  }
}

std::optional<GpuPressure> SampleWindow::pressure() const {
  if (last_.size() < samples_) {
    return std::nullopt;
  }
  const auto summary = [&](double GpuPressure::* member) {
    std::vector<double> values;
    values.reserve(last_.size());
    for (const GpuPressure& sample : last_) {
      values.push_back(sample.*member);
    }
    return summarise(values, how_);
  };
  return GpuPressure{.sm_active = summary(&GpuPressure::sm_active),
                     .sm_occupancy = summary(&GpuPressure::sm_occupancy),
                     .dram_active = summary(&GpuPressure::dram_active)};
}

}  // namespace carpool::observe
