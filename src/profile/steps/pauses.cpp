#include "profile/steps/pauses.hpp"

#include <algorithm>

namespace carpool::profile {
namespace {

constexpr double kPauseOfMedian = 5.0;
constexpr std::int64_t kShortestPause = 2000;  // ns

}  // namespace

std::vector<StepEvent> with_pauses(std::span<const StepEvent> events) {
  std::vector<std::int64_t> pauses;
  pauses.reserve(events.size());
  std::int64_t busy_until = events.front().start_ns;
  std::uint32_t most = 0;
  for (const StepEvent& event : events) {
    pauses.push_back(std::max<std::int64_t>(0, event.start_ns - busy_until));
    busy_until = std::max(busy_until, event.start_ns + event.duration_ns);
    most = std::max(most, event.id);
  }
  std::vector<std::int64_t> sorted = pauses;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double limit =
      std::max(kPauseOfMedian * static_cast<double>(*middle), static_cast<double>(kShortestPause));
  std::vector<StepEvent> out(events.begin(), events.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (static_cast<double>(pauses[i]) > limit) {
      out[i].id += most + 1;
    }
  }
  return out;
}

}  // namespace carpool::profile
