// A recording made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "gpu/cupti/activity_reader.hpp"

namespace carpool::profile {

inline constexpr std::int64_t kMillisecond = 1'000'000;

// An SM as those of compute capability 9.0, four of them.
inline gpu::ActivityTrace small_gpu_trace() {
  gpu::ActivityTrace trace;
  gpu::ActivityDevice device;
  device.facts.sm_count = 4;
  device.facts.max_threads_per_sm = 2048;
  device.facts.max_warps_per_sm = 64;
  device.facts.max_blocks_per_sm = 32;
  device.facts.registers_per_sm = 65'536;
  device.facts.shared_bytes_per_sm = 228 * 1024;
  device.facts.reserved_shared_bytes_per_block = 1024;
  device.facts.warp_size = 32;
  trace.devices.push_back(device);
  return trace;
}

inline std::uint32_t add_kernel(gpu::ActivityTrace& trace,
                                std::string name,
                                std::uint32_t blocks,
                                std::uint32_t threads,
                                std::uint32_t registers = 32,
                                std::uint32_t static_shared = 0) {
  gpu::ActivityKernel kernel;
  kernel.name = std::move(name);
  kernel.facts.id = static_cast<std::uint32_t>(trace.kernels.size());
  kernel.facts.grid = {blocks, 1, 1};
  kernel.facts.block = {threads, 1, 1};
  kernel.facts.registers_per_thread = registers;
  kernel.facts.static_shared_bytes = static_shared;
  trace.kernels.push_back(kernel);
  return kernel.facts.id;
}

inline void add_launch(gpu::ActivityTrace& trace,
                       std::uint32_t kernel,
                       std::int64_t start_ns,
                       std::int64_t duration_ns,
                       std::uint32_t stream = 7) {
  gpu::activity_format::Launch launch;
  launch.kernel = kernel;
  launch.start_ns = start_ns;
  launch.duration_ns = duration_ns;
  launch.stream = stream;
  trace.launches.push_back(launch);
}

}  // namespace carpool::profile
