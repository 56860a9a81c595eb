#include "profile/steps/program_steps.hpp"

#include <iterator>
#include <utility>

#include "profile/reduce.hpp"

namespace carpool::profile {
namespace {

// If the whole window gives no clear period, tries its second half: start-up may reach into the
// first.
std::vector<StepEstimate> launched_steps(std::span<const gpu::ActivityTrace> traces,
                                         const TimeWindow& window) {
  std::vector<StepEstimate> launched = steps_by_launches(traces, window);
  if (!launched.empty() && launched.front().confidence >= kSure) {
    return launched;
  }
  const TimeWindow later{.start_ns = window.start_ns / 2 + window.end_ns / 2,
                         .end_ns = window.end_ns};
  std::vector<StepEstimate> better = steps_by_launches(traces, later);
  const bool is_better = !better.empty() && (launched.empty() || better.front().confidence >
                                                                     launched.front().confidence);
  return is_better ? better : launched;
}

}  // namespace

std::optional<StepEstimate> steps_without_recording(const WatchedProgram& program,
                                                    const TimeWindow& window) {
  auto steps = reported_steps(program.steps(), window);
  return steps ? steps : program.steps_printed(window);
}

std::vector<StepEstimate> steps_by_all(const WatchedProgram& program,
                                       std::span<const gpu::ActivityTrace> traces,
                                       std::string_view nvtx_range,
                                       const TimeWindow& window) {
  std::vector<StepEstimate> out;
  const auto add = [&out](std::optional<StepEstimate> estimate) {
    if (estimate) {
      out.push_back(std::move(*estimate));
    }
  };
  add(reported_steps(program.steps(), window));
  if (!nvtx_range.empty()) {
    add(steps_by_ranges(traces, nvtx_range, window));
  }
  add(program.steps_printed(window));
  std::vector<StepEstimate> launched = launched_steps(traces, window);
  std::move(launched.begin(), launched.end(), std::back_inserter(out));
  return by_trust(out);
}

}  // namespace carpool::profile
