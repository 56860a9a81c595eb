#include "gpu/cupti/inject/window/kernel_summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gpu/cupti/kernel_occupancy.hpp"

namespace carpool::gpu::inject {
namespace {

constexpr std::uint64_t kCellNs = 20'000;
constexpr std::size_t kMostCells = 800'000;  // 16 s, 6.4 MB
// Durations fall into four bins between two powers of two, from 256 ns on.
constexpr std::uint64_t kShortestNs = 256;
constexpr unsigned kShortestBits = 9;

std::uint32_t at_least_zero(std::int32_t value) {
  return static_cast<std::uint32_t>(std::max(value, 0));
}

activity_format::Kernel facts_of(const cupti::KernelRecord& record) {
  activity_format::Kernel kernel;
  for (std::size_t i = 0; i < kernel.grid.size(); ++i) {
    kernel.grid[i] = at_least_zero(record.grid[i]);
    kernel.block[i] = at_least_zero(record.block[i]);
  }
  kernel.registers_per_thread = record.registers_per_thread;
  kernel.static_shared_bytes = at_least_zero(record.static_shared);
  kernel.dynamic_shared_bytes = at_least_zero(record.dynamic_shared);
  return kernel;
}

std::uint32_t millionths(double share) {
  constexpr double kMillion = 1e6;
  return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * kMillion));
}

std::uint32_t whole_ns(double time) {
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp(time, 0.0, kMost));
}

std::size_t bin_of(std::uint64_t duration_ns, std::size_t bins) {
  const std::uint64_t duration = std::max(duration_ns, kShortestNs);
  const auto bits = static_cast<unsigned>(std::bit_width(duration));
  const std::uint64_t quarter = (duration >> (bits - 3U)) & 3U;
  return std::min<std::size_t>(std::uint64_t{bits - kShortestBits} * 4U + quarter, bins - 1);
}

// Its middle.
double duration_of(std::size_t bin) {
  const auto octave = static_cast<double>(kShortestNs << (bin / 4U));
  return octave * (1.0 + (static_cast<double>(bin % 4U) + 0.5) / 4.0);
}

}  // namespace

void KernelSummary::add(const cupti::KernelRecord& record, const activity_format::Device& device) {
  if (record.start == 0 || record.end <= record.start) {
    ++untimed_;
    return;
  }
  const KernelOccupancy occupancy = occupancy_of(facts_of(record), device);
  const auto duration = static_cast<double>(record.end - record.start);
  ++kernels_;
  ++durations_[bin_of(record.end - record.start, kDurations)];
  first_ns_ = std::min(first_ns_, record.start);
  last_ns_ = std::max(last_ns_, record.end);
  time_ns_ += duration;
  active_ns_ += duration * occupancy.sm_share;
  warp_ns_ += duration * occupancy.resident;
  spread(record.start, record.end, occupancy.sm_share);
}

void KernelSummary::spread(std::uint64_t begin, std::uint64_t end, double sm_share) {
  std::uint64_t at = begin - std::min(begin, from_ns_);
  const std::uint64_t until =
      std::min<std::uint64_t>(end - std::min(end, from_ns_), std::uint64_t{kMostCells} * kCellNs);
  if (until > at && cells_.size() * kCellNs < until) {
    cells_.resize(until / kCellNs + 1);
  }
  while (at < until) {
    Cell& cell = cells_[at / kCellNs];
    const std::uint64_t next = std::min(until, (at / kCellNs + 1) * kCellNs);
    const float share = static_cast<float>(next - at) / static_cast<float>(kCellNs);
    cell.busy = std::min(cell.busy + share, 1.0F);
    cell.active = std::min(cell.active + share * static_cast<float>(sm_share), 1.0F);
    at = next;
  }
}

window_format::Kernels KernelSummary::reduced(std::uint64_t window_ns, bool complete) const {
  window_format::Kernels out{.count = kernels_};
  if (kernels_ == 0) {
    return out;
  }
  double busy = 0.0;
  double active = 0.0;
  for (const Cell& cell : cells_) {
    busy += static_cast<double>(cell.busy);
    active += static_cast<double>(cell.active);
  }
  const std::uint64_t ran_ns = last_ns_ - first_ns_;
  const auto over_ns = static_cast<double>(complete ? std::max(ran_ns, window_ns) : ran_ns);
  out.busy = millionths(busy * kCellNs / over_ns);
  out.active = millionths(active * kCellNs / over_ns);
  out.fill = millionths(active_ns_ / time_ns_);
  out.warps = millionths(warp_ns_ / time_ns_);
  out.mean_ns = whole_ns(time_ns_ / static_cast<double>(kernels_));
  out.p90_ns = whole_ns(p90_ns());
  return out;
}

// The middle of the interval that holds it.
double KernelSummary::p90_ns() const {
  constexpr double kShare = 0.9;
  const double wanted = kShare * static_cast<double>(kernels_);
  double seen = 0.0;
  std::size_t bin = 0;
  for (; bin + 1 < kDurations; ++bin) {
    seen += static_cast<double>(durations_[bin]);
    if (seen >= wanted) {
      break;
    }
  }
  return duration_of(bin);
}

}  // namespace carpool::gpu::inject
