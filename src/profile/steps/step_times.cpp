#include "profile/steps/step_times.hpp"

#include <algorithm>
#include <vector>

#include "base/statistics.hpp"

namespace carpool::profile {
namespace {

constexpr double kNanoseconds = 1e-9;

// From one time to a later one. A workload may report times so far apart that only an unsigned
// difference holds them.
double span_ns(std::int64_t from, std::int64_t to) {
  return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}

// Steps done at an instant, with the fraction of the current one. `ends` holds a time at or before
// it and one after it.
double progress_at(std::span<const std::int64_t> ends, std::int64_t instant) {
  const auto next = std::upper_bound(ends.begin(), ends.end(), instant);
  const auto last = std::prev(next);
  const double part = span_ns(*last, instant) / span_ns(*last, *next);
  return static_cast<double>(std::distance(ends.begin(), last)) + part;
}

}  // namespace

std::optional<StepTimes> steps_within(std::span<const std::int64_t> ends,
                                      std::int64_t from,
                                      std::int64_t to) {
  if (ends.size() < 2 || from >= to || ends.front() > from || ends.back() <= to ||
      !std::ranges::is_sorted(ends)) {
    return std::nullopt;
  }
  StepTimes out;
  out.steps_per_second =
      (progress_at(ends, to) - progress_at(ends, from)) / (span_ns(from, to) * kNanoseconds);
  std::vector<double> spans;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] > from && ends[i] <= to) {
      ++out.steps;
      spans.push_back(span_ns(ends[i - 1], ends[i]) * kNanoseconds);
    }
  }
  if (spans.empty()) {  // one step longer than the window
    spans.push_back(1.0 / out.steps_per_second);
  }
  std::sort(spans.begin(), spans.end());
  out.p50 = quantile_of_sorted(spans, 0.50);
  out.p95 = quantile_of_sorted(spans, 0.95);
  out.p99 = quantile_of_sorted(spans, 0.99);
  return out;
}

}  // namespace carpool::profile
