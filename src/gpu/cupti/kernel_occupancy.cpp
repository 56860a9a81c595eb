#include "gpu/cupti/kernel_occupancy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace carpool::gpu {
namespace {

// Allocation granularities, unchanged since compute capability 3.0.
constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kRegistersAtOnce = 256;  // of a warp
constexpr std::uint32_t kWarpsAtOnce = 4;        // one for each of the four schedulers
constexpr std::uint32_t kSharedAtOnce = 128;     // bytes

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

// An unknown limit does not limit; a kernel that has run fits at least once.
std::uint64_t fitting(std::uint64_t available, std::uint64_t each) {
  return available == 0 || each == 0 ? kUnlimited : std::max<std::uint64_t>(1, available / each);
}

std::uint64_t volume(const std::array<std::uint32_t, 3>& extent) {
  return std::uint64_t{std::max(1U, extent[0])} * std::max(1U, extent[1]) * std::max(1U, extent[2]);
}

}  // namespace

KernelOccupancy occupancy_of(const activity_format::Kernel& kernel,
                             const activity_format::Device& device) {
  const std::uint64_t warp = device.warp_size == 0 ? kWarp : device.warp_size;
  const std::uint64_t warps = rounded_up(volume(kernel.block), warp) / warp;
  KernelOccupancy out;
  out.blocks = volume(kernel.grid);
  if (device.sm_count == 0 || device.max_warps_per_sm == 0) {
    return out;
  }
  const std::uint64_t registers = rounded_up(kernel.registers_per_thread * warp, kRegistersAtOnce);
  const std::uint64_t warps_by_registers =
      registers == 0 ? kUnlimited
                     : device.registers_per_sm / registers / kWarpsAtOnce * kWarpsAtOnce;
  const std::uint64_t shared = std::uint64_t{kernel.static_shared_bytes} +
                               kernel.dynamic_shared_bytes + device.reserved_shared_bytes_per_block;
  const std::uint64_t blocks =
      std::min({fitting(device.max_blocks_per_sm, 1),
                fitting(device.max_warps_per_sm, warps),
                fitting(warps_by_registers, warps),
                fitting(device.shared_bytes_per_sm, rounded_up(shared, kSharedAtOnce))});
  const auto grid = static_cast<double>(out.blocks);
  const double whole_gpu = static_cast<double>(blocks) * device.sm_count;
  out.blocks_per_sm = static_cast<double>(blocks);
  out.theoretical = std::min(1.0, static_cast<double>(blocks * warps) / device.max_warps_per_sm);
  out.waves = grid / whole_gpu;
  out.resident = out.theoretical * out.waves / std::ceil(out.waves);
  out.sms = std::min<double>(device.sm_count, std::ceil(grid / out.blocks_per_sm));
  const double full_waves = std::floor(out.waves);
  const double in_last_wave = std::min(1.0, (grid - full_waves * whole_gpu) / device.sm_count);
  out.sm_share = (full_waves + in_last_wave) / std::ceil(out.waves);
  return out;
}

}  // namespace carpool::gpu
