#include "observe/gpu_watcher.hpp"

#include <exception>
#include <utility>

#include "base/log.hpp"

namespace carpool::observe {

GpuWatcher::GpuWatcher(TelemetrySource& source,
                       std::vector<GpuInfo> gpus,
                       const ObserverSettings& settings,
                       WatcherPorts ports,
                       std::chrono::milliseconds interval)
    : observer_(source, std::move(gpus), settings),
      ports_(std::move(ports)),
      interval_(interval),
      thread_([this] { run(); }) {}

GpuWatcher::~GpuWatcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void GpuWatcher::run() {
  bool watching = true;
  while (watching) {
    try {
      watching = look();
    } catch (const std::exception& problem) {  // short of memory: this reading is skipped
      log_error(problem.what());
    }
    watching = watching && wait();
  }
}

bool GpuWatcher::look() {
  Result<RunningJobs> now = ports_.running();
  if (!now) {
    return false;
  }
  ports_.post(observer_.read(find_process_owners(now->processes, std::move(now->residents))));
  return true;
}

bool GpuWatcher::wait() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, interval_, [this] { return ending_; });
}

}  // namespace carpool::observe
