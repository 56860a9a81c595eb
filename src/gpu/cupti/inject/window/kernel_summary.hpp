// Reduces the kernels of a window to a few numbers, in memory that does not grow with their number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cupti/abi.hpp"
#include "gpu/cupti/activity_format.hpp"
#include "gpu/cupti/window_format.hpp"

namespace carpool::gpu::inject {

// Time is divided into cells of 20 us. Each holds the kernel time that fell into it, at most its
// length: so concurrent kernels count once, in whatever order their records come.
class KernelSummary {
 public:
  // The start of the window, of CUPTI's clock.
  explicit KernelSummary(std::uint64_t from_ns) : from_ns_(from_ns) {}

  void add(const cupti::KernelRecord& record, const activity_format::Device& device);

  // Kernels that were launched in a window of this length. They may run later than they were
  // launched: a program queues many. `complete`: none of them is missing.
  [[nodiscard]] window_format::Kernels reduced(std::uint64_t window_ns, bool complete) const;
  [[nodiscard]] std::uint64_t kernels() const { return kernels_; }
  [[nodiscard]] std::uint64_t untimed() const { return untimed_; }

 private:
  struct Cell {
    float busy = 0.0F;    // kernel time over the length of the cell
    float active = 0.0F;  // the same, each kernel by its share of the SMs
  };
  static constexpr std::size_t kDurations = 96;  // bins

  void spread(std::uint64_t begin, std::uint64_t end, double sm_share);
  [[nodiscard]] double p90_ns() const;

  std::uint64_t from_ns_;
  std::vector<Cell> cells_;
  std::array<std::uint64_t, kDurations> durations_{};
  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t last_ns_ = 0;
  std::uint64_t kernels_ = 0;
  std::uint64_t untimed_ = 0;
  double time_ns_ = 0.0;
  double active_ns_ = 0.0;  // kernel time, each kernel by its share of the SMs
  double warp_ns_ = 0.0;    // kernel time, each kernel by its share of the warps
};

}  // namespace carpool::gpu::inject
