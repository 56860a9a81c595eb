#include "observe/gpu_watcher.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/log.hpp"

namespace carpool::observe {
namespace {

constexpr std::uint64_t kMemoryStep = std::uint64_t{64} << 20U;
constexpr double kPressureStep = 0.05;
constexpr double kAfterChangeS = 15.0;

bool moved(std::uint64_t before, std::uint64_t now) {
  return (before > now ? before - now : now - before) >= kMemoryStep;
}

bool moved(const std::optional<GpuPressure>& before, const std::optional<GpuPressure>& now) {
  return now && (!before || std::abs(before->sm_active - now->sm_active) >= kPressureStep ||
                 std::abs(before->dram_active - now->dram_active) >= kPressureStep);
}

bool is_news(const GpuObservation& before, const GpuObservation& now) {
  const auto same = [](const GpuObservation::JobSeen& one, const GpuObservation::JobSeen& other) {
    return one.job == other.job && one.processes == other.processes && !other.rate &&
           !other.window && !moved(one.bytes, other.bytes);
  };
  return before.foreign != now.foreign || before.unusable != now.unusable ||
         moved(before.used_bytes, now.used_bytes) ||
         moved(before.foreign_bytes, now.foreign_bytes) || moved(before.latest, now.latest) ||
         !std::ranges::equal(before.jobs, now.jobs, same);
}

}  // namespace

bool is_news(const std::vector<GpuObservation>& before, const std::vector<GpuObservation>& now) {
  return !std::ranges::equal(
      before, now, [](const GpuObservation& one, const GpuObservation& other) {
        return !is_news(one, other);
      });
}

GpuWatcher::GpuWatcher(TelemetrySource& source,
                       std::vector<GpuInfo> gpus,
                       const ObserverSettings& settings,
                       WatcherPorts ports,
                       WatcherIntervals intervals)
    : observer_(source, std::move(gpus), settings),
      ports_(std::move(ports)),
      intervals_(intervals),
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
  if (residents_ != now->residents) {
    residents_ = now->residents;
    since_change_.emplace();
  }
  lively_ = now->lively || (since_change_ && since_change_->seconds() < kAfterChangeS);
  std::vector<GpuObservation> seen =
      observer_.read(find_process_owners(now->processes, std::move(now->residents)));
  if (ports_.processes) {
    ports_.processes(observer_.processes());
  }
  if (ports_.readings) {
    ports_.readings(observer_.readings());
  }
  constexpr double kEarly = 0.9;  // a reading may come a little before its time
  const double due_s = kEarly * std::chrono::duration<double>(intervals_.usual).count();
  if (!since_post_ || since_post_->seconds() >= due_s || is_news(posted_, seen)) {
    posted_ = seen;
    since_post_.emplace();
    ports_.post(std::move(seen));
  }
  return true;
}

bool GpuWatcher::wait() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(
      lock, lively_ ? intervals_.lively : intervals_.usual, [this] { return ending_; });
}

}  // namespace carpool::observe
