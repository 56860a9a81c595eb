#include "gpu/replay/replay_telemetry.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace carpool::gpu {
namespace {

// The time that one pass of the recording takes: the time that it covers plus one mean step.
std::uint64_t lap_length(std::uint64_t first, std::uint64_t last, std::size_t count) {
  const std::uint64_t rise = last - first;
  return count > 1 ? rise + rise / (count - 1) : 0;
}

// Unsigned arithmetic: a file may hold any times, and signed overflow is undefined.
std::int64_t on_lap(
    std::int64_t at, std::int64_t first, std::int64_t last, std::size_t count, std::size_t lap) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto length = std::max<std::uint64_t>(
      lap_length(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last), count), 1);
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(at) + lap * length) & kMost);
}

}  // namespace

ReplayTelemetry::ReplayTelemetry(TelemetryRecording recording)
    : gpus_(std::move(recording.gpus)), tracks_(gpus_.size()) {
  for (TelemetryReading& reading : recording.readings) {
    Track& track = tracks_.at(reading.gpu);
    track.samples.push_back(std::move(reading.sample));
    track.processes.push_back(std::move(reading.processes));
    if (reading.activity) {
      track.activities.push_back(std::move(*reading.activity));
    }
  }
}

Result<ReplayTelemetry::Track*> ReplayTelemetry::find(unsigned gpu) {
  if (gpu >= tracks_.size()) {
    return fail(
        ErrorCode::NotFound,
        fmt::format(
            "there is no GPU {}: the recording has {}, counted from 0", gpu, tracks_.size()));
  }
  if (tracks_[gpu].samples.empty()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the recording has no reading of GPU {}: record for longer", gpu));
  }
  return &tracks_[gpu];
}

Result<std::vector<GpuInfo>> ReplayTelemetry::list_gpus() {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

Result<GpuSample> ReplayTelemetry::sample(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](Track* track) {
    const std::vector<GpuSample>& all = track->samples;
    const std::size_t lap = track->next_sample / all.size();
    GpuSample sample = all[track->next_sample % all.size()];
    ++track->next_sample;
    const GpuSample& first = all.front();
    const GpuSample& last = all.back();
    sample.at_ns = on_lap(sample.at_ns, first.at_ns, last.at_ns, all.size(), lap);
    return sample;
  });
}

Result<std::optional<GpuEnergy>> ReplayTelemetry::energy(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](const Track* /*track*/) { return std::optional<GpuEnergy>(); });
}

Result<std::optional<GpuActivity>> ReplayTelemetry::activity(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](Track* track) -> std::optional<GpuActivity> {
    if (!std::exchange(track->activity_begun, true) || track->activities.empty()) {
      return std::nullopt;
    }
    const std::size_t at = track->next_activity++ % track->activities.size();
    return track->activities[at];
  });
}

Result<void> ReplayTelemetry::begin_activity(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](Track* track) { track->activity_begun = true; });
}

Result<std::vector<GpuProcess>> ReplayTelemetry::processes(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](Track* track) {
    return track->processes[track->next_processes++ % track->processes.size()];
  });
}

}  // namespace carpool::gpu
