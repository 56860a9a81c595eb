// What server and simulator observe of a GPU between decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster_snapshot.hpp"
#include "core/job.hpp"
#include "core/latency.hpp"

namespace carpool {

// How the progress of a job is measured. Rates of different sources cannot be compared.
enum class ProgressSource {
  Steps,     // carpool.step()
  Output,    // lines of its output that match JobSpec::progress
  Launches,  // kernel launches, counted while the profiler's library listens
};

// Mean speed of a job over a time that has just ended.
struct MeasuredRate {
  double per_s = 0.0;  // steps, lines or launches
  double over_s = 0.0;
  ProgressSource source = ProgressSource::Steps;
};

// The kernels of a job over a few seconds, by the profiler's library in its processes.
struct KernelWindow {
  double over_s = 0.0;
  std::uint64_t kernels = 0;
  double busy = 0.0;    // share of the time in which at least one kernel ran
  double active = 0.0;  // mean share of the SMs that held a block of them, 0 to 1
  double fill = 0.0;    // the same while kernels ran, weighted by kernel time
  double warps = 0.0;   // resident warps over those that the GPU holds, weighted likewise
  double mean_us = 0.0;
  double p90_us = 0.0;
  double launches_per_s = 0.0;  // by the program; a graph counts as one
};

struct GpuObservation {
  unsigned gpu = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t foreign_bytes = 0;
  bool foreign = false;
  std::string unusable{};
  std::optional<GpuPressure> pressure{};  // of the last window
  std::optional<GpuPressure> latest{};    // of the last sample
  // Energy since the driver was loaded; empty: not read this time, or not reported.
  std::optional<double> energy_joules{};
  struct JobSeen {
    JobId job = 0;
    std::uint64_t bytes = 0;
    unsigned processes = 1;              // here; 0: hidden ones, whose bytes are not known
    std::optional<MeasuredRate> rate{};  // empty: nothing new was measured
    std::optional<KernelWindow> window{};
    std::optional<MeasuredLatency> latency{};  // of a job that serves requests
    // Share of the time of the SMs that its kernels had, 0 to 1; empty: not reported by process.
    std::optional<double> sm_active{};
  };
  std::vector<JobSeen> jobs{};  // Carpool's jobs seen on this GPU
};

}  // namespace carpool
