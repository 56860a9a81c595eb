// Wrappers of the functions that tell how much memory there is: a program that has a quota sees the
// quota, and sizes its caches and batches by it.
#include "interpose/library/devices.hpp"
#include "interpose/library/memory/pools.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

template <class Size>
void lower_to(Size* size, std::uint64_t most) {
  if (size != nullptr && *size > most) {
    *size = static_cast<Size>(most);
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses)

#define MEMORY_INFO(NAME, SIZE)                    \
  Status NAME(SIZE* free, SIZE* total) {           \
    const Call call;                               \
    const Status status = REAL(NAME, free, total); \
    if (call.counts() && status == kSuccess) {     \
      Device& device = current_device();           \
      settle_pools(device);                        \
      const MemoryView view = device.guard.view(); \
      lower_to(free, view.available);              \
      lower_to(total, view.job_limit);             \
    }                                              \
    return status;                                 \
  }
MEMORY_INFO(cuMemGetInfo, unsigned)
MEMORY_INFO(cuMemGetInfo_v2, std::size_t)

#define TOTAL_MEMORY(NAME, SIZE)                     \
  Status NAME(SIZE* total, int device) {             \
    const Call call;                                 \
    const Status status = REAL(NAME, total, device); \
    if (call.counts() && status == kSuccess) {       \
      lower_to(total, job_limit_of(device));         \
    }                                                \
    return status;                                   \
  }
TOTAL_MEMORY(cuDeviceTotalMem, unsigned)
TOTAL_MEMORY(cuDeviceTotalMem_v2, std::size_t)

// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

}  // namespace carpool::interpose
