// From what was recorded of a program to its profile. Internal to profile/.
#pragma once

#include <span>
#include <vector>

#include "gpu/cupti/activity_reader.hpp"
#include "profile/kernel_table.hpp"
#include "profile/steps/step_estimate.hpp"
#include "profile/steps/time_window.hpp"
#include "profile/watch/telemetry_track.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::profile {

// Orders what the sources say by how far they are to be trusted.
[[nodiscard]] std::vector<StepEstimate> by_trust(std::span<const StepEstimate> estimates);

// Throughput by the most trusted source: units/s, where units a step are known, else steps/s. A
// period of a single launch is no step of anybody's: launches/s.
void set_throughput(std::span<const StepEstimate> estimates, WorkloadProfile& profile);

// Counters, notes and metrics of the recording.
[[nodiscard]] KernelTable add_recording(std::span<const gpu::ActivityTrace> traces,
                                        const TimeWindow& window,
                                        WorkloadProfile& profile);

// Metrics and readings of the sensors.
void add_telemetry(const TelemetryTrack& track, WorkloadProfile& profile);

}  // namespace carpool::profile
