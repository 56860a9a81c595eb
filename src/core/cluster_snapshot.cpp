#include "core/cluster_snapshot.hpp"

#include <algorithm>

namespace carpool {

// Each step stops at zero: what is claimed may add up to more than there is.
std::uint64_t GpuView::free_bytes() const {
  std::uint64_t free = memory_bytes - std::min(memory_bytes, foreign_bytes);
  for (const Resident& resident : residents) {
    free -= std::min(free, std::max(resident.reserved_bytes, resident.used_bytes));
  }
  // What nobody is known to hold is still not free.
  return std::min(free, memory_bytes - std::min(memory_bytes, used_bytes));
}

}  // namespace carpool
