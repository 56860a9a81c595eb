// Reduces the recording of a program to its profile. Internal to profile/.
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

// Sorts the estimates by the trust in their source.
[[nodiscard]] std::vector<StepEstimate> by_trust(std::span<const StepEstimate> estimates);

// Throughput by the most trusted source: units/s where units per step are known, else steps/s. A
// period of a single launch is not a step: launches/s.
void set_throughput(std::span<const StepEstimate> estimates, WorkloadProfile& profile);

// Adds counters, notes and metrics of the recording.
[[nodiscard]] KernelTable add_recording(std::span<const gpu::ActivityTrace> traces,
                                        const TimeWindow& window,
                                        WorkloadProfile& profile);

// Adds metrics and readings of the sensors.
void add_telemetry(const TelemetryTrack& track, WorkloadProfile& profile);

}  // namespace carpool::profile
