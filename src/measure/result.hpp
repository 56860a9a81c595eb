// The result of one window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu.hpp"
#include "measure/failure.hpp"
#include "profile/steps/step_times.hpp"

namespace carpool::measure {

struct MemberResult {
  std::string workload;
  double thread_percentage = 100.0;
  bool low_priority = false;
  double throughput = 0.0;  // units/s
  profile::StepTimes steps;
  std::optional<std::uint64_t> memory_bytes;  // on the GPU
};

// One line of the journal.
struct Measurement {
  std::string key;  // key_of the cell
  std::string table;
  std::string mechanism;
  std::size_t repeat = 0;
  std::string at;                     // UTC, when the window closed
  double seconds = 0.0;               // length of the window
  double spent_seconds = 0.0;         // including warm-up and waiting
  std::vector<MemberResult> members;  // throughputs are unset after a failure
  std::optional<Failure> failure;
  GpuActivity activity;
  std::optional<double> gpu_utilisation;
  std::optional<double> memory_utilisation;
  std::optional<double> power_watts;  // mean over the window
  std::optional<double> energy_joules;
  std::optional<double> sm_clock_mhz;  // at its end
  std::vector<std::string> throttle_reasons;
};

}  // namespace carpool::measure
