#include "observe/window.hpp"

#include <array>
#include <numeric>
#include <utility>
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

void SampleWindow::add(const GpuPressure& sample, double span_s) {
  constexpr double kSampleS = 0.9;  // readings come a little early
  constexpr std::array kMembers = {
      &GpuPressure::sm_active, &GpuPressure::sm_occupancy, &GpuPressure::dram_active};
  for (double GpuPressure::* member : kMembers) {
    sum_.*member += sample.*member * span_s;
  }
  sum_s_ += span_s;
  if (sum_s_ < kSampleS) {
    return;
  }
  for (double GpuPressure::* member : kMembers) {
    sum_.*member /= sum_s_;
  }
  last_.push_back(std::exchange(sum_, {}));
  sum_s_ = 0.0;
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
