// How many blocks of a kernel an SM can hold, from what the kernel asks for and what an SM has.
#pragma once

#include <cstdint>

#include "gpu/cupti/activity_format.hpp"

namespace carpool::profile {

struct KernelOccupancy {
  std::uint64_t blocks = 0;  // of the grid
  double blocks_per_sm =
      0.0;                   // that fit on one SM at a time; 0: the device did not tell its limits
  double theoretical = 0.0;  // warps of these blocks, of those that fit: 0 to 1
  double waves = 0.0;        // blocks of the grid over blocks that fit on the whole GPU
  // Resident warps of those that fit on the whole GPU, averaged over the kernel's time if all
  // blocks take equally long: lower than `theoretical` for a small grid or a last wave that is not
  // full.
  double resident = 0.0;
  double sms = 0.0;  // SMs that suffice to hold all its blocks at a time, at most all of the GPU's
};

[[nodiscard]] KernelOccupancy occupancy_of(const gpu::activity_format::Kernel& kernel,
                                           const gpu::activity_format::Device& device);

}  // namespace carpool::profile
