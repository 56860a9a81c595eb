// A telemetry source for tests, with values and a clock that the test sets.
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

  // Set the answers of the following calls; the GPU must exist. Times and spans come from the
  // fake's clock.
  void set_sample(unsigned gpu, GpuSample sample);
  void set_energy(unsigned gpu, std::optional<double> joules);
  void set_activity(unsigned gpu, GpuActivity activity);
  void set_processes(unsigned gpu, std::vector<GpuProcess> processes);

  void set_health(unsigned gpu, GpuHealth health);
  void set_process_activity(unsigned gpu, std::optional<std::vector<ProcessActivity>> processes);

  // Each call about this GPU fails with `error` until heal().
  void break_gpu(unsigned gpu, Error error);
  void heal(unsigned gpu);

  void advance(std::chrono::nanoseconds span);

  [[nodiscard]] Result<std::vector<GpuInfo>> list_gpus() override;
  [[nodiscard]] Result<GpuSample> sample(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<GpuEnergy>> energy(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<GpuActivity>> activity(unsigned gpu) override;
  [[nodiscard]] Result<void> begin_activity(unsigned gpu) override;
  [[nodiscard]] Result<std::vector<GpuProcess>> processes(unsigned gpu) override;
  [[nodiscard]] Result<GpuHealth> health(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<std::vector<ProcessActivity>>> process_activity(
      unsigned gpu) override;

 private:
  struct Gpu {
    GpuInfo info{};
    GpuSample sample{};
    std::optional<double> joules{};
    GpuActivity activity{};
    std::vector<GpuProcess> processes{};
    GpuHealth health{};
    std::optional<std::vector<ProcessActivity>> process_activity{};
    std::optional<std::chrono::nanoseconds> span_began{};
    std::optional<Error> broken{};
  };

  // The GPU, or the error to return. The caller holds the mutex.
  [[nodiscard]] Result<Gpu*> find(unsigned gpu);

  std::mutex mutex_;
  std::vector<Gpu> gpus_;
  std::chrono::nanoseconds now_{0};
};

// Two GPUs with all values set.
[[nodiscard]] std::vector<GpuInfo> two_fake_gpus();

}  // namespace carpool::gpu
