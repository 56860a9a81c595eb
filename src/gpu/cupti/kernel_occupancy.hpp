// Occupancy of a kernel: how many of its blocks an SM can hold.
#pragma once

#include <cstdint>

#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu {

struct KernelOccupancy {
  std::uint64_t blocks = 0;    // of the grid
  double blocks_per_sm = 0.0;  // that fit on one SM; 0: the limits of the device are unknown
  double theoretical = 0.0;    // warps of these blocks over the warps that fit: 0 to 1
  double waves = 0.0;          // blocks of the grid over blocks that fit on the whole GPU
  // Resident warps over the warps that fit on the whole GPU, averaged over the kernel's time if all
  // blocks take equally long. Lower than `theoretical` for a small grid or a partly filled last
  // wave.
  double resident = 0.0;
  double sms = 0.0;  // SMs needed to hold all blocks at once, at most all SMs
  // SMs that hold at least one block, averaged over the kernel's time if all blocks take equally
  // long: the GPU spreads the blocks of a wave over as many SMs as it can. 0 to 1.
  double sm_share = 0.0;
};

[[nodiscard]] KernelOccupancy occupancy_of(const activity_format::Kernel& kernel,
                                           const activity_format::Device& device);

}  // namespace carpool::gpu
