// The SMs' own counters (GPM, Hopper and later) between two moments of one GPU, without a profiler
// and without privileges.
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

// A span that is under way, or none. Only on the thread that owns the library, and gone before it.
class GpmSpan {
 public:
  explicit GpmSpan(const DeviceRef& gpu);

  // Forgets what was and begins now.
  [[nodiscard]] Result<void> begin();

  [[nodiscard]] bool under_way() const { return began_ns_.has_value(); }
  [[nodiscard]] std::int64_t began_ns() const { return began_ns_.value_or(0); }

  // What happened since begin() or the last end(); a new span begins. Where there are no such
  // counters only the span's length is known.
  [[nodiscard]] Result<GpuActivity> end();

 private:
  using Sample = std::unique_ptr<OpaqueGpmSample, FreeGpmSample>;

  // The counters now; null where there are none.
  [[nodiscard]] Result<Sample> take();

  DeviceRef gpu_;
  bool supported_;
  std::optional<std::int64_t> began_ns_;
  Sample first_;
};

}  // namespace carpool::gpu::nvml
