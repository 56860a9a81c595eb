#include "profile/steps/pauses.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace carpool::profile {
namespace {

constexpr double kPauseOfMedian = 5.0;
constexpr double kShortestPause = 2000.0;  // ns

}  // namespace

std::vector<StepEvent> with_pauses(std::span<const StepEvent> events) {
  std::vector<double> pauses;
  pauses.reserve(events.size());
  std::int64_t busy_until = events.front().start_ns;
  std::uint32_t most = 0;
  for (const StepEvent& event : events) {
    pauses.push_back(static_cast<double>(std::max<std::int64_t>(0, event.start_ns - busy_until)));
    busy_until = std::max(busy_until, event.start_ns + event.duration_ns);
    most = std::max(most, event.id);
  }
  const double limit = std::max(kPauseOfMedian * median(pauses), kShortestPause);
  std::vector<StepEvent> out(events.begin(), events.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (pauses[i] > limit) {
      out[i].id += most + 1;
    }
  }
  return out;
}

}  // namespace carpool::profile
