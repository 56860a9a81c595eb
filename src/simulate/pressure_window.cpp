#include "simulate/pressure_window.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace carpool::simulate {
namespace {

constexpr double kMeanWeight = 0.2;
constexpr double kMedianWeight = 0.3;
constexpr double kHighWeight = 0.3;
constexpr double kRecentWeight = 0.2;
constexpr double kHigh = 0.95;

// With linear interpolation between the two nearest.
double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double window_score(std::span<const double> samples) {
  if (samples.empty()) {
    return 0.0;
  }
  const auto count = static_cast<double>(samples.size());
  const double alpha = 2.0 / (count + 1.0);
  double recent = samples.front();
  for (const double sample : samples.subspan(1)) {
    recent += alpha * (sample - recent);
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  return kMeanWeight * mean + kMedianWeight * percentile(sorted, 0.5) +
         kHighWeight * percentile(sorted, kHigh) + kRecentWeight * recent;
}

void PressureWindow::change(double at_s, const GpuPressure& now) {
  if (!changes_.empty() && changes_.back().at_s == at_s) {
    changes_.back().pressure = now;
    return;
  }
  changes_.push_back({.at_s = at_s, .pressure = now});
  if (changes_.size() > kRemembered) {
    changes_.pop_front();
  }
}

GpuPressure PressureWindow::summary(const SimulationConstants& constants, double now_s) const {
  if (changes_.empty()) {
    return {};
  }
  if (changes_.back().at_s <= now_s - constants.window_s) {
    return changes_.back().pressure;  // it was constant for the whole window
  }
  const auto count = static_cast<std::size_t>(constants.window_s / constants.sample_s);
  std::vector<double> sm(count, 0.0);
  std::vector<double> occupancy(count, 0.0);
  std::vector<double> dram(count, 0.0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double then = now_s - constants.sample_s * static_cast<double>(count - 1 - i);
    while (at + 1 < changes_.size() && changes_[at + 1].at_s <= then) {
      ++at;
    }
    if (changes_[at].at_s <= then) {
      sm[i] = changes_[at].pressure.sm_active;
      occupancy[i] = changes_[at].pressure.sm_occupancy;
      dram[i] = changes_[at].pressure.dram_active;
    }
  }
  return {.sm_active = window_score(sm),
          .sm_occupancy = window_score(occupancy),
          .dram_active = window_score(dram)};
}

}  // namespace carpool::simulate
