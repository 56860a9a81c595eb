// A telemetry source whose values are set and whose time is moved by hand.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "core/telemetry_source.hpp"

namespace carpool::gpu {

class FakeTelemetry final : public TelemetrySource {
 public:
  // GPUs are addressed by their place in the list, which becomes their index.
  explicit FakeTelemetry(std::vector<GpuInfo> gpus);

  // What the next calls answer; the GPU must be one of the list. Times and spans are filled in from
  // the fake's own clock.
  void set_sample(unsigned gpu, GpuSample sample);
  void set_energy(unsigned gpu, std::optional<double> joules);
  void set_activity(unsigned gpu, GpuActivity activity);
  void set_processes(unsigned gpu, std::vector<GpuProcess> processes);

  // Every call about this GPU fails so, until heal().
  void break_gpu(unsigned gpu, Error error);
  void heal(unsigned gpu);

  void advance(std::chrono::nanoseconds span);

  [[nodiscard]] Result<std::vector<GpuInfo>> list_gpus() override;
  [[nodiscard]] Result<GpuSample> sample(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<GpuEnergy>> energy(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<GpuActivity>> activity(unsigned gpu) override;
  [[nodiscard]] Result<void> begin_activity(unsigned gpu) override;
  [[nodiscard]] Result<std::vector<GpuProcess>> processes(unsigned gpu) override;

 private:
  struct Gpu {
    GpuInfo info{};
    GpuSample sample{};
    std::optional<double> joules{};
    GpuActivity activity{};
    std::vector<GpuProcess> processes{};
    std::optional<std::chrono::nanoseconds> span_began{};
    std::optional<Error> broken{};
  };

  // The GPU, or why there is no answer about it. The caller holds the mutex.
  [[nodiscard]] Result<Gpu*> find(unsigned gpu);

  std::mutex mutex_;
  std::vector<Gpu> gpus_;
  std::chrono::nanoseconds now_{0};
};

// Two GPUs with all values there, for whoever needs some GPU.
[[nodiscard]] std::vector<GpuInfo> two_fake_gpus();

}  // namespace carpool::gpu
