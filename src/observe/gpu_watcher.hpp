// Reads the GPUs at regular intervals on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "core/gpu_observation.hpp"
#include "core/telemetry_source.hpp"
#include "observe/gpu_observer.hpp"
#include "observe/process_owners.hpp"

namespace carpool::observe {

// What the watcher needs to know before each reading.
struct RunningJobs {
  std::vector<JobProcesses> processes{};
  std::map<unsigned, std::vector<JobId>> residents{};  // as ProcessOwners::residents
};

// Both are called by the watcher's thread.
struct WatcherPorts {
  std::function<Result<RunningJobs>()> running{};  // an error: there is nothing left to watch
  std::function<void(std::vector<GpuObservation>)> post{};
};

class GpuWatcher {
 public:
  // The source outlives the watcher, and only the watcher uses it meanwhile. Throws
  // std::system_error where the system refuses a thread.
  GpuWatcher(TelemetrySource& source,
             std::vector<GpuInfo> gpus,
             const ObserverSettings& settings,
             WatcherPorts ports,
             std::chrono::milliseconds interval = std::chrono::seconds(1));
  GpuWatcher(const GpuWatcher&) = delete;
  GpuWatcher& operator=(const GpuWatcher&) = delete;
  ~GpuWatcher();

 private:
  void run();
  // One reading. False: there is nothing left to watch.
  [[nodiscard]] bool look();
  // False: the watcher ends.
  [[nodiscard]] bool wait();

  GpuObserver observer_;
  WatcherPorts ports_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace carpool::observe
