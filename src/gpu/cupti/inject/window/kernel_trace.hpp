// Requests CUPTI's records of kernels for the length of a window, and reduces them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "gpu/cupti/inject/vendor_library.hpp"
#include "gpu/cupti/inject/window/kernel_summary.hpp"

namespace carpool::gpu::inject {

// Whether this release of CUPTI may record kernels in a program that does not expect it.
[[nodiscard]] bool can_trace_kernels(const Cupti& cupti);

// Used by one thread, which is subscribed to CUPTI. Neither CUPTI's clock nor an attribute of it is
// changed: both would stay so for the program's own profiler.
class KernelTrace {
 public:
  explicit KernelTrace(const CuptiFunctions& functions) : functions_(functions) {}
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;
  ~KernelTrace();
  // In a child of fork(): CUPTI gets no buffer there.
  static void forget();

  [[nodiscard]] cupti::Code begin();
  // Takes in what is complete; waits up to 5 ms for it.
  void take();
  // Asks CUPTI for buffers that are not full. The caller takes them in.
  void flush();
  // No kernel that is launched from now on is recorded.
  void end();
  // Records of kernels that have not ended yet are missing.
  [[nodiscard]] bool waits() const;
  // Gives up those records, and takes in the rest.
  void finish();

  struct Traced {
    window_format::Kernels kernels{};
    bool lost = false;  // too many records are missing
  };
  [[nodiscard]] Traced traced() const;

 private:
  [[nodiscard]] const activity_format::Device& device(std::uint32_t ordinal);
  void decode(std::uint8_t* buffer, std::size_t valid);
  void disable();

  const CuptiFunctions& functions_;
  std::optional<KernelSummary> summary_;
  std::map<std::uint32_t, activity_format::Device> devices_;
  std::uint64_t began_ = 0;  // of CUPTI's clock, as below
  std::uint64_t ended_ = 0;
  bool enabled_ = false;
  bool complete_ = true;
  std::uint64_t dropped_ = 0;
};

}  // namespace carpool::gpu::inject
