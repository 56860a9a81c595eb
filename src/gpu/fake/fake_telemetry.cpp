#include "gpu/fake/fake_telemetry.hpp"

#include <utility>

#include <fmt/format.h>

namespace carpool::gpu {

FakeTelemetry::FakeTelemetry(std::vector<GpuInfo> gpus) {
  for (GpuInfo& info : gpus) {
    info.index = static_cast<unsigned>(gpus_.size());
    gpus_.push_back({.info = std::move(info)});
  }
}

void FakeTelemetry::set_sample(unsigned gpu, GpuSample sample) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).sample = std::move(sample);
}

void FakeTelemetry::set_energy(unsigned gpu, std::optional<double> joules) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).joules = joules;
}

void FakeTelemetry::set_activity(unsigned gpu, GpuActivity activity) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).activity = std::move(activity);
}

void FakeTelemetry::set_processes(unsigned gpu, std::vector<GpuProcess> processes) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).processes = std::move(processes);
}

void FakeTelemetry::set_health(unsigned gpu, GpuHealth health) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).health = std::move(health);
}

void FakeTelemetry::set_process_activity(unsigned gpu,
                                         std::optional<std::vector<ProcessActivity>> processes) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).process_activity = std::move(processes);
}

void FakeTelemetry::break_gpu(unsigned gpu, Error error) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).broken = std::move(error);
}

void FakeTelemetry::heal(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  gpus_.at(gpu).broken.reset();
}

void FakeTelemetry::advance(std::chrono::nanoseconds span) {
  const std::lock_guard lock(mutex_);
  now_ += span;
}

Result<FakeTelemetry::Gpu*> FakeTelemetry::find(unsigned gpu) {
  if (gpu >= gpus_.size()) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("there is no GPU {}: the fake has {}, counted from 0", gpu, gpus_.size()));
  }
  if (gpus_[gpu].broken) {
    return tl::unexpected(*gpus_[gpu].broken);
  }
  return &gpus_[gpu];
}

Result<std::vector<GpuInfo>> FakeTelemetry::list_gpus() {
  const std::lock_guard lock(mutex_);
  std::vector<GpuInfo> gpus;
  gpus.reserve(gpus_.size());
  for (const Gpu& gpu : gpus_) {
    gpus.push_back(gpu.info);
  }
  return gpus;
}

Result<GpuSample> FakeTelemetry::sample(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([&](const Gpu* found) {
    GpuSample sample = found->sample;
    sample.at_ns = now_.count();
    return sample;
  });
}

Result<std::optional<GpuEnergy>> FakeTelemetry::energy(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([&](const Gpu* found) -> std::optional<GpuEnergy> {
    return found->joules ? std::optional(GpuEnergy{.at_ns = now_.count(), .joules = *found->joules})
                         : std::nullopt;
  });
}

Result<std::optional<GpuActivity>> FakeTelemetry::activity(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([&](Gpu* found) -> std::optional<GpuActivity> {
    if (!found->span_began) {
      found->span_began = now_;
      return std::nullopt;
    }
    const std::chrono::nanoseconds span = now_ - *found->span_began;
    if (span < kShortestActivitySpan) {
      return std::nullopt;
    }
    found->span_began = now_;
    GpuActivity activity = found->activity;
    activity.span_seconds = std::chrono::duration<double>(span).count();
    return activity;
  });
}

Result<void> FakeTelemetry::begin_activity(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([&](Gpu* found) { found->span_began = now_; });
}

Result<std::vector<GpuProcess>> FakeTelemetry::processes(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](const Gpu* found) { return found->processes; });
}

Result<GpuHealth> FakeTelemetry::health(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](const Gpu* found) { return found->health; });
}

Result<std::optional<std::vector<ProcessActivity>>> FakeTelemetry::process_activity(unsigned gpu) {
  const std::lock_guard lock(mutex_);
  return find(gpu).map([](const Gpu* found) { return found->process_activity; });
}

std::vector<GpuInfo> two_fake_gpus() {
  constexpr std::uint64_t kMemory = std::uint64_t{141} << 30U;
  std::vector<GpuInfo> gpus(2);
  for (unsigned i = 0; i < gpus.size(); ++i) {
    gpus[i] = {.index = i,
               .uuid = fmt::format("GPU-fake-{}", i),
               .name = "Fake H200",
               .driver = "580.0",
               .pci_bus = fmt::format("00000000:0{}:00.0", i + 1),
               .compute_capability = "9.0",
               .memory_bytes = kMemory,
               .power_limit_watts = 700.0,
               .compute_mode = "default",
               .fine_activity = true};
  }
  return gpus;
}

}  // namespace carpool::gpu
