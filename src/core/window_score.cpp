#include "core/window_score.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/statistics.hpp"

namespace carpool {
namespace {

constexpr double kMeanWeight = 0.2;
constexpr double kMedianWeight = 0.3;
constexpr double kHighWeight = 0.3;
constexpr double kRecentWeight = 0.2;
constexpr double kHigh = 0.95;

double exponential_mean(std::span<const double> samples) {
  const double alpha = 2.0 / (static_cast<double>(samples.size()) + 1.0);
  double mean = samples.front();
  for (const double sample : samples.subspan(1)) {
    mean += alpha * (sample - mean);
  }
  return mean;
}

}  // namespace

double window_score(std::span<const double> samples) {
  if (samples.empty()) {
    return 0.0;
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  return kMeanWeight * mean + kMedianWeight * quantile_of_sorted(sorted, 0.5) +
         kHighWeight * quantile_of_sorted(sorted, kHigh) +
         kRecentWeight * exponential_mean(samples);
}

}  // namespace carpool
