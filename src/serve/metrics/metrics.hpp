// The page that Prometheus scrapes. Every metric is one row of the table of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_reading.hpp"
#include "core/job_event.hpp"
#include "schedule/scheduler.hpp"
#include "serve/caller.hpp"
#include "serve/metrics/job_gate.hpp"

namespace carpool::serve {

// What the page says about one metric; docs/metrics.md lists the same.
struct MetricInfo {
  std::string_view name;
  std::string_view type;  // gauge, counter, histogram, summary
  std::vector<std::string_view> labels;
  std::string_view help;
};
[[nodiscard]] std::vector<MetricInfo> metric_list();
// Of use_dcgm_names().
[[nodiscard]] std::vector<MetricInfo> dcgm_metric_list();

// Jobs on GPUs that have series of their own.
inline constexpr std::size_t kMostJobSeries = 200;

struct MetricTotals;

// Totals since the server started. Thread-safe.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // `queued_s`: when the job entered the queue.
  void count(const JobEvent& event, double queued_s);
  void decision(double seconds);
  void request(int status);
  // Of the disk of the state folder. `full`: no job starts.
  void disk(std::uint64_t total_bytes, std::uint64_t free_bytes, bool full);

  // The latest readings of the GPUs.
  void gpus(std::vector<GpuReading> readings);
  // What the gate did to running jobs. The last report of a job stays for some time after its end.
  void gates(std::vector<JobGate> seen);
  [[nodiscard]] std::optional<JobGate> gate_of(JobId job) const;
  // The page has the values of the GPUs also under the names of dcgm-exporter, from this host.
  void use_dcgm_names(std::string host);

  // The whole page, with the names of those jobs that the caller may see. Called on the thread that
  // owns the scheduler.
  [[nodiscard]] std::string text(const schedule::Scheduler& scheduler,
                                 std::string_view version,
                                 const Caller& caller) const;

 private:
  std::unique_ptr<MetricTotals> totals_;
};

}  // namespace carpool::serve
