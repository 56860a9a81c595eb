// The speed of a program's steps, by each source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cupti/activity_reader.hpp"
#include "profile/steps/step_file.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

// Sources, most trusted first.
inline constexpr std::string_view kFromStepFile = "carpool.step";
inline constexpr std::string_view kFromRanges = "nvtx";
inline constexpr std::string_view kFromOutput = "output";
inline constexpr std::string_view kFromLaunches = "launches";

// The number of steps done at a time.
struct StepMark {
  std::int64_t at_ns = 0;  // monotonic_ns()
  double steps = 0.0;
};

struct StepEstimate {
  std::string source{};
  double steps_per_second = 0.0;
  double units_per_step = 1.0;  // samples, tokens; 1 where unknown
  double steps = 0.0;           // seen
  double p50_seconds = 0.0;     // of one step
  double p95_seconds = 0.0;
  double confidence = 1.0;         // 0 to 1
  double launches_per_step = 0.0;  // launches and copies; 0: unknown
};

// Marks ascend in time and steps. Nothing for fewer than two steps.
[[nodiscard]] std::optional<StepEstimate> estimate_steps(std::string_view source,
                                                         std::span<const StepMark> marks);

// Steps that carpool.step() reported and that ended in the window.
[[nodiscard]] std::optional<StepEstimate> reported_steps(const StepFile& file,
                                                         const TimeWindow& window);

// NVTX ranges of this name that started in the window, in the process with most of them.
[[nodiscard]] std::optional<StepEstimate> steps_by_ranges(
    std::span<const gpu::ActivityTrace> traces, std::string_view name, const TimeWindow& window);

// Periods of the launch sequence, the step first (launch_steps.hpp).
[[nodiscard]] std::vector<StepEstimate> steps_by_launches(
    std::span<const gpu::ActivityTrace> traces, const TimeWindow& window);

}  // namespace carpool::profile
