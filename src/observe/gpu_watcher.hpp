// Reads the GPUs on a thread of its own: at regular intervals, and more often while something
// happens.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
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
  // A job starts, or began or ceased to compute a moment ago. A change of the residents counts
  // without it.
  bool lively = false;
};

// All are called by the watcher's thread.
struct WatcherPorts {
  std::function<Result<RunningJobs>()> running{};  // an error: there is nothing left to watch
  std::function<void(std::vector<GpuObservation>)> post{};
  // Both may be empty. `processes` is called as soon as the GPUs have been read.
  std::function<void(const SeenProcesses&)> processes{};
  std::function<void(std::vector<GpuReading>)> readings{};
};

struct WatcherIntervals {
  std::chrono::milliseconds usual{1000};
  std::chrono::milliseconds lively{250};
};

// Whether a reading tells the scheduler something that the one before did not. Memory and pressure
// change a little all the time.
[[nodiscard]] bool is_news(const std::vector<GpuObservation>& before,
                           const std::vector<GpuObservation>& now);

class GpuWatcher {
 public:
  // The source outlives the watcher, and only the watcher uses it meanwhile. Throws
  // std::system_error where the system refuses a thread.
  GpuWatcher(TelemetrySource& source,
             std::vector<GpuInfo> gpus,
             const ObserverSettings& settings,
             WatcherPorts ports,
             WatcherIntervals intervals = {});
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
  WatcherIntervals intervals_;
  bool lively_ = false;
  std::map<unsigned, std::vector<JobId>> residents_;
  std::optional<Stopwatch> since_change_;  // of the residents
  std::vector<GpuObservation> posted_;
  std::optional<Stopwatch> since_post_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace carpool::observe
