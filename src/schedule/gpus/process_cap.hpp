// MPS limits each process, from its start to its end; the cap of a job is the sum over its
// processes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace carpool::schedule {

// A process with less cannot do anything: a CUDA context and the libraries of a framework take
// about 1 GiB.
inline constexpr std::uint64_t kLeastProcessCap = std::uint64_t{3} << 29U;

// The limit of each process of a job with this cap. Where the part of one is too small to be of
// use, the limits add up to more than the cap, and the job is watched.
[[nodiscard]] constexpr std::uint64_t process_cap(std::uint64_t cap_bytes, unsigned processes) {
  return std::min(std::max(cap_bytes / std::max(processes, 1U), kLeastProcessCap), cap_bytes);
}

}  // namespace carpool::schedule
