#include "observe/window.hpp"

#include <numeric>
#include <vector>

#include "core/window_score.hpp"

namespace carpool::observe {
double summarise(std::span<const double> values, WindowSummary how) {
  if (how == WindowSummary::Risk) {
    return window_score(values);
  }
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
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
