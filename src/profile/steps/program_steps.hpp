// The steps of a watched program, by every source that tells of them. Internal to profile/.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profile/steps/step_estimate.hpp"
#include "profile/watch/watched_program.hpp"

namespace carpool::profile {

// Steps that were found in launches count from this confidence on.
inline constexpr double kSure = 0.5;

// What the program itself tells, by carpool.step() or in its output.
[[nodiscard]] std::optional<StepEstimate> steps_without_recording(const WatchedProgram& program,
                                                                  const TimeWindow& window);

// The most trusted first. `nvtx_range` is the name of the ranges that are steps; empty: none are.
[[nodiscard]] std::vector<StepEstimate> steps_by_all(const WatchedProgram& program,
                                                     std::span<const gpu::ActivityTrace> traces,
                                                     std::string_view nvtx_range,
                                                     const TimeWindow& window);

}  // namespace carpool::profile
