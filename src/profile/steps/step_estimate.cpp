#include "profile/steps/step_estimate.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "profile/steps/launch_steps.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {
namespace {

std::vector<StepMark> counted(std::span<const std::int64_t> times) {
  std::vector<StepMark> marks;
  marks.reserve(times.size());
  for (const std::int64_t time : times) {
    marks.push_back({.at_ns = time, .steps = static_cast<double>(marks.size())});
  }
  return marks;
}

}  // namespace

std::optional<StepEstimate> estimate_steps(std::string_view source,
                                           std::span<const StepMark> marks) {
  if (marks.size() < 2) {
    return std::nullopt;
  }
  const double steps = marks.back().steps - marks.front().steps;
  const double seconds = seconds_between(marks.front().at_ns, marks.back().at_ns);
  if (steps < 1.0 || seconds <= 0.0) {
    return std::nullopt;
  }
  std::vector<double> each;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const double done = marks[i].steps - marks[i - 1].steps;
    if (done > 0.0) {
      each.push_back(seconds_between(marks[i - 1].at_ns, marks[i].at_ns) / done);
    }
  }
  std::sort(each.begin(), each.end());
  return StepEstimate{.source = std::string(source),
                      .steps_per_second = steps / seconds,
                      .steps = steps,
                      .p50_seconds = quantile_of_sorted(each, 0.5),
                      .p95_seconds = quantile_of_sorted(each, 0.95)};
}

std::optional<StepEstimate> reported_steps(const StepFile& file, const TimeWindow& window) {
  constexpr std::uint64_t kMostAtOnce = 60'000;  // fewer than the ring of a step file holds
  const std::uint64_t done = file.steps();
  if (done == 0) {
    return std::nullopt;
  }
  const std::uint64_t first = done > kMostAtOnce ? done - kMostAtOnce : 0;
  auto ends = file.ends(first, done - 1);
  if (!ends) {
    return std::nullopt;
  }
  std::erase_if(*ends, [&](std::int64_t end) { return !window.holds(end); });
  auto estimate = estimate_steps(kFromStepFile, counted(*ends));
  if (estimate) {
    estimate->units_per_step = file.units_per_step();
  }
  return estimate;
}

std::optional<StepEstimate> steps_by_ranges(std::span<const gpu::ActivityTrace> traces,
                                            std::string_view name,
                                            const TimeWindow& window) {
  std::vector<std::int64_t> most;
  for (const gpu::ActivityTrace& trace : traces) {
    std::vector<std::int64_t> starts;
    for (const gpu::ActivityRange& range : trace.ranges) {
      if (range.name == name && window.holds(range.start_ns)) {
        starts.push_back(range.start_ns);
      }
    }
    if (starts.size() > most.size()) {
      most = std::move(starts);
    }
  }
  return estimate_steps(kFromRanges, counted(most));
}

std::vector<StepEstimate> steps_by_launches(std::span<const gpu::ActivityTrace> traces,
                                            const TimeWindow& window) {
  std::vector<StepEstimate> out;
  for (const Period& period : find_launch_steps(traces, window)) {
    auto estimate = estimate_steps(kFromLaunches, counted(period.marks));
    if (!estimate || period.seconds <= 0.0) {
      continue;
    }
    // Includes lost marks.
    estimate->steps_per_second = 1.0 / period.seconds;
    estimate->steps = static_cast<double>(period.count);
    estimate->confidence = period.confidence;
    estimate->launches_per_step = period.events;
    out.push_back(std::move(*estimate));
  }
  return out;
}

}  // namespace carpool::profile
