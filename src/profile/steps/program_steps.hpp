// The steps of a watched program, by each source. Internal to profile/.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profile/steps/step_estimate.hpp"
#include "profile/watch/watched_program.hpp"

namespace carpool::profile {

// Steps found in launches are used from this confidence on.
inline constexpr double kSure = 0.5;

// Steps that the program reports by carpool.step() or in its output.
[[nodiscard]] std::optional<StepEstimate> steps_without_recording(const WatchedProgram& program,
                                                                  const TimeWindow& window);

// Most trusted source first. `nvtx_range` names the ranges that are steps; empty: none.
[[nodiscard]] std::vector<StepEstimate> steps_by_all(const WatchedProgram& program,
                                                     std::span<const gpu::ActivityTrace> traces,
                                                     std::string_view nvtx_range,
                                                     const TimeWindow& window);

}  // namespace carpool::profile
