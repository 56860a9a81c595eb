#include "gpu/nvml/read_processes.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace carpool::gpu::nvml {
namespace {

using List = Return (*)(Device, unsigned*, ProcessInfo*);
using MemoryByPid = std::map<unsigned, std::optional<std::uint64_t>>;

// Retries with more room, as processes may start between two calls.
Result<std::vector<ProcessInfo>> read_list(const DeviceRef& gpu, List list) {
  constexpr unsigned kFirstRoom = 64;
  constexpr int kTries = 8;
  if (list == nullptr) {
    return {};
  }
  unsigned room = kFirstRoom;
  Return code = kInsufficientSize;
  for (int i = 0; i < kTries && code == kInsufficientSize; ++i) {
    std::vector<ProcessInfo> processes(room);
    unsigned count = room;
    code = list(gpu.handle, &count, processes.data());
    if (code == kSuccess) {
      processes.resize(std::min(count, room));
      return processes;
    }
    room = std::max(count, room) + kFirstRoom;
  }
  if (is_absence(code)) {
    return {};
  }
  return tl::unexpected(
      gpu.library->failure(fmt::format("list the processes on GPU {}", gpu.index), code));
}

// A process in several MIG slices is listed once per slice.
MemoryByPid by_pid(const std::vector<ProcessInfo>& processes) {
  MemoryByPid memory;
  for (const ProcessInfo& process : processes) {
    std::optional<std::uint64_t>& sum = memory[process.pid];
    if (process.used_memory != kValueNotAvailable) {
      sum = sum.value_or(0) + process.used_memory;
    }
  }
  return memory;
}

}  // namespace

Result<std::vector<GpuProcess>> read_processes(const DeviceRef& gpu) {
  const auto compute = read_list(gpu, gpu.library->call().compute_processes);
  if (!compute) {
    return tl::unexpected(compute.error());
  }
  const auto mps = read_list(gpu, gpu.library->call().mps_processes);
  if (!mps) {
    return tl::unexpected(mps.error());
  }
  const MemoryByPid mps_memory = by_pid(*mps);
  MemoryByPid memory = by_pid(*compute);
  for (const auto& [pid, bytes] : mps_memory) {
    // Both lists report the same memory, so take the maximum. An absent value compares lowest.
    std::optional<std::uint64_t>& known = memory[pid];
    known = std::max(known, bytes);
  }
  std::vector<GpuProcess> processes;
  processes.reserve(memory.size());
  for (const auto& [pid, bytes] : memory) {
    processes.push_back(
        {.pid = pid, .memory_bytes = bytes, .mps_client = mps_memory.contains(pid)});
  }
  return processes;
}

}  // namespace carpool::gpu::nvml
