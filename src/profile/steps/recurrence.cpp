#include "profile/steps/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/statistics.hpp"

namespace carpool::profile {
namespace {

// More positions add no information.
constexpr std::size_t kMostPositions = 4096;
// Kernels that a step launches more often add nothing to rarer ones.
constexpr std::size_t kMostPerPeriod = 64;
constexpr std::size_t kFewestRecurrences = 3;

// Steps vary a little: a memset of the allocator, launches of two streams that swap places.
constexpr double kTolerance = 0.05;
constexpr double kLongPeriod = 20.0;

// Distances between neighbours: those of layers agree, except for the last layer of each step.
constexpr double kMostlyAlike = 0.85;
constexpr double kAlike = 0.97;
constexpr double kPerfect = 0.995;

double tolerance(double period) {
  return kTolerance * period + (period >= kLongPeriod ? 1.0 : 0.0);
}

Recurrence after(std::size_t occurrences,
                 std::uint32_t id,
                 std::span<const std::uint32_t> positions,
                 std::vector<double>& distances) {
  distances.clear();
  for (std::size_t i = occurrences; i < positions.size(); ++i) {
    distances.push_back(static_cast<double>(positions[i] - positions[i - occurrences]));
  }
  const double period = median(distances);
  const double allowed = tolerance(period);
  const auto alike = std::ranges::count_if(
      distances, [=](double distance) { return std::abs(distance - period) <= allowed; });
  return {.id = id,
          .per_period = occurrences,
          .period = period,
          .agreement = static_cast<double>(alike) / static_cast<double>(distances.size())};
}

}  // namespace

std::vector<Recurrence> recurrences(std::uint32_t id, std::span<const std::uint32_t> positions) {
  positions = positions.first(std::min(positions.size(), kMostPositions));
  if (positions.size() <= kFewestRecurrences) {
    return {};
  }
  std::vector<Recurrence> found;
  std::vector<double> distances;
  const Recurrence neighbours = after(1, id, positions, distances);
  if (neighbours.agreement >= kMostlyAlike) {
    found.push_back(neighbours);
  }
  if (neighbours.agreement >= kAlike) {
    return found;
  }
  const std::size_t most = std::min(kMostPerPeriod, (positions.size() - 1) / kFewestRecurrences);
  std::optional<Recurrence> best;
  for (std::size_t occurrences = 2; occurrences <= most; ++occurrences) {
    const Recurrence here = after(occurrences, id, positions, distances);
    if (here.agreement >= kAlike && (!best || here.agreement > best->agreement)) {
      best = here;
    }
    if (best && best->agreement >= kPerfect) {
      break;
    }
  }
  if (best) {
    found.push_back(*best);
  }
  return found;
}

}  // namespace carpool::profile
