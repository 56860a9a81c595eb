// Activity of a GPU between two moments by its GPM counters (Hopper and later), without a profiler
// or privileges.
#pragma once

#include <memory>
#include <optional>

#include "core/gpu.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

[[nodiscard]] bool gpm_supported(const DeviceRef& gpu);

struct FreeGpmSample {
  const Functions* call = nullptr;
  void operator()(GpmSample sample) const { call->gpm_free(sample); }
};

// The current span, if any. Used only on the thread that owns the library; destroyed before it.
class GpmSpan {
 public:
  explicit GpmSpan(const DeviceRef& gpu);

  // Starts a new span now.
  [[nodiscard]] Result<void> begin();

  [[nodiscard]] bool under_way() const { return began_ns_.has_value(); }
  [[nodiscard]] std::int64_t began_ns() const { return began_ns_.value_or(0); }

  // Activity since begin() or the last end(); starts a new span. Without GPM only the length of the
  // span is known.
  [[nodiscard]] Result<GpuActivity> end();

 private:
  using Sample = std::unique_ptr<OpaqueGpmSample, FreeGpmSample>;

  // The current counters; null without GPM.
  [[nodiscard]] Result<Sample> take();

  DeviceRef gpu_;
  bool supported_;
  std::optional<std::int64_t> began_ns_;
  Sample first_;
};

}  // namespace carpool::gpu::nvml
