// Errors of a GPU, what limits its clocks, and the activity of its processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/gpu_reading.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

struct FreeEventSet {
  const Functions* call = nullptr;
  void operator()(EventSet events) const { call->event_set_free(events); }
};

// Counts the XID errors that the driver reports from now on. Used only on the thread that owns the
// library; destroyed before it.
class XidEvents {
 public:
  explicit XidEvents(const DeviceRef& gpu);

  // Takes the errors that came since the last call; does not wait.
  void take();

  // Empty: the driver does not report them.
  [[nodiscard]] std::optional<std::uint64_t> count() const {
    return events_ ? std::optional(count_) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint64_t> last() const { return last_; }

 private:
  const Functions* call_;
  std::unique_ptr<OpaqueEventSet, FreeEventSet> events_;  // null: not reported
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> last_;
};

[[nodiscard]] Result<GpuHealth> read_health(const DeviceRef& gpu, XidEvents& xids);

// Of processes with samples newer than `seen_us`, which becomes the time of the newest.
[[nodiscard]] Result<std::optional<std::vector<ProcessActivity>>> read_process_activity(
    const DeviceRef& gpu, unsigned long long& seen_us);

}  // namespace carpool::gpu::nvml
