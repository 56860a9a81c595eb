// What simulated jobs do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "core/run.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

struct SimulatedWork {
  std::string workload{};  // for the interference model
  double solo_s = 0.0;     // run time without other jobs on its GPUs
  // On each GPU: the peak of the first minutes, and the peak of the whole run.
  std::uint64_t early_bytes = 0;
  std::uint64_t peak_bytes = 0;
  // Of a GPU, solo, 0 to 1.
  double sm_active = 0.0;
  double sm_occupancy = 0.0;
  double dram_active = 0.0;
};

// An error: the launch fails.
using WorkSource = std::function<Result<SimulatedWork>(const LaunchSpec& spec)>;

// Job ids are those of a scheduler that received the trace's jobs in order: the first is 1. A job
// whose SM activity is not in the trace has that of the truth. Trace and truth outlive the source.
[[nodiscard]] WorkSource work_of_trace(const Trace& trace, const InterferenceModel& truth);

// A job does what its spec says; where the spec says nothing, it runs for kUnstatedSeconds and
// takes kUnstatedBytes. The truth, which gives the SM activity, outlives the source.
inline constexpr double kUnstatedSeconds = 300.0;
inline constexpr std::uint64_t kUnstatedBytes = std::uint64_t{4} << 30U;
inline constexpr double kUnstatedActivity = 0.5;
[[nodiscard]] WorkSource work_of_specs(const InterferenceModel& truth);

}  // namespace carpool::simulate
