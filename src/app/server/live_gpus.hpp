// The GPUs of this machine for the scheduler: what they are, and what goes on on them.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "observe/gpu_observer.hpp"
#include "run/process_executor.hpp"
#include "serve/scheduler_loop.hpp"

namespace carpool::app {

struct LiveGpus {
  std::unique_ptr<TelemetrySource> source{};
  std::vector<GpuInfo> watched{};  // those that can be read one by one; first among the views
  std::vector<GpuView> views{};
};

// NotFound where there is no GPU that jobs could use.
[[nodiscard]] Result<LiveGpus> find_gpus(bool use_mps);

// Reads the GPUs each second and tells the scheduler, on a thread of its own.
class GpuWatcher {
 public:
  // All of them outlive it.
  GpuWatcher(LiveGpus& gpus,
             const run::ProcessExecutor& executor,
             serve::SchedulerLoop& loop,
             const observe::ObserverSettings& settings);
  GpuWatcher(const GpuWatcher&) = delete;
  GpuWatcher& operator=(const GpuWatcher&) = delete;
  ~GpuWatcher();

 private:
  void run();

  observe::GpuObserver observer_;
  const run::ProcessExecutor& executor_;
  serve::SchedulerLoop& loop_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace carpool::app
