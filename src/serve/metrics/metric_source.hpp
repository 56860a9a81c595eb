// What the metrics are read from, and the tables that metrics.cpp puts together. Internal to
// serve/metrics/.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "core/gpu_reading.hpp"
#include "schedule/scheduler.hpp"
#include "serve/caller.hpp"
#include "serve/metrics/histogram.hpp"
#include "serve/metrics/job_gate.hpp"
#include "serve/metrics/metric_samples.hpp"
#include "serve/metrics/metrics.hpp"

namespace carpool::serve {

struct MetricTotals {
  mutable std::mutex mutex{};
  std::uint64_t submitted = 0;
  std::uint64_t started = 0;
  std::uint64_t requeued = 0;
  std::map<std::string, std::uint64_t> ends{};  // of attempts, by outcome
  std::map<TroubleScope, std::uint64_t> troubles{};
  std::map<PauseCause, std::uint64_t> pauses{};
  std::map<int, std::uint64_t> requests{};  // by status
  std::uint64_t disk_total_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  bool disk_full = false;
  Histogram wait{{1, 5, 15, 60, 300, 900, 3600, 14400, 86400}};
  Histogram decision{{0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2}};
  std::map<JobId, JobGate> gates{};
  std::vector<GpuReading> readings{};
  std::optional<Stopwatch> since_readings{};
  std::optional<std::string> dcgm_host{};  // also under DCGM's names, with this host name
};

struct MetricSource {
  const schedule::Scheduler& scheduler;
  const MetricTotals& totals;
  std::string_view version;
  const Caller& caller;
  std::vector<JobId> jobs{};           // on GPUs, by id: those with series of their own
  std::size_t jobs_left_out = 0;       // on GPUs, beyond these
  std::span<const GpuReading> gpus{};  // of GPUs that could be read lately
};

// One metric: its row of the table, and how its samples are read.
struct Metric {
  MetricInfo info;
  void (*read)(const MetricSource& from, Samples& out);
};

[[nodiscard]] std::vector<Metric> gpu_metrics();
[[nodiscard]] std::vector<Metric> job_metrics();
[[nodiscard]] std::vector<Metric> gate_metrics();
[[nodiscard]] std::vector<Metric> dcgm_metrics();

}  // namespace carpool::serve
