#include "observe/gpu_watcher.hpp"

#include <utility>

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
  do {
    Result<RunningJobs> now = ports_.running();
    if (!now) {
      return;
    }
    ports_.post(observer_.read(find_process_owners(now->processes, std::move(now->residents))));
  } while (wait());
}

bool GpuWatcher::wait() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, interval_, [this] { return ending_; });
}

}  // namespace carpool::observe
