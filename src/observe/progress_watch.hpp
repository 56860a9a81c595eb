// Measures the progress of running jobs: by what they report, else by their launches, counted in
// windows. Has the kernels of each workload recorded once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/gpu_observation.hpp"
#include "gpu/cupti/window_file.hpp"
#include "observe/progress_rate.hpp"
#include "observe/progress_schedule.hpp"

namespace carpool::observe {

// A count that a job reports itself; empty while it reports none.
struct ProgressCounter {
  ProgressSource source = ProgressSource::Steps;
  std::function<std::optional<CountSeen>(double now_s)> read{};
};

struct WatchedJob {
  JobId job = 0;
  unsigned attempt = 0;
  bool paused = false;
  std::filesystem::path window_file{};                       // empty: its launches are not counted
  std::function<std::vector<ProgressCounter>()> counters{};  // the most trusted first
  bool wants_kernels = false;                                // what they are is not known yet
};

struct ProgressSettings {
  WindowTimes times{};
  std::uint32_t window_ms = 1500;
  // Says once for each job why its launches are not counted.
  std::function<void(JobId, const std::string&)> tell{};
  // Says why its kernels are not recorded.
  std::function<void(JobId, const std::string&)> tell_kernels{};
};

struct JobProgress;  // progress_job.hpp

// Used by one thread.
class ProgressWatch {
 public:
  explicit ProgressWatch(ProgressSettings settings);
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  // With each reading of the GPUs: adds to it what is newly measured, and opens windows that are
  // due.
  void update(std::int64_t now_ns,
              std::span<const WatchedJob> jobs,
              std::vector<GpuObservation>& seen);

 private:
  using Job = JobProgress;
  [[nodiscard]] Job& follow(const WatchedJob& job);
  // Its group changed: what was counted before says nothing of the new one.
  void restart_rates(Job& job, double now_s) const;
  [[nodiscard]] std::optional<MeasuredRate> rate_of(Job& job, double now_s);
  [[nodiscard]] std::optional<MeasuredRate> counted(Job& job, double now_s);
  void open_window(std::int64_t now_ns, Job& job);
  void open_windows(std::int64_t now_ns, const std::set<JobId>& due);
  [[nodiscard]] static bool is_kernel_window_due(const Job& job, double now_s);
  void open_kernel_windows(std::int64_t now_ns,
                           std::span<const WatchedJob> jobs,
                           std::span<const GpuObservation> seen);
  void order_kernels(std::int64_t now_ns, Job& job);
  [[nodiscard]] std::optional<KernelWindow> recorded_kernels(Job& job, double now_s);
  void tell_once(Job& job, const std::string& why);

  ProgressSettings settings_;
  ProgressSchedule schedule_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
};

}  // namespace carpool::observe
