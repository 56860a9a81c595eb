// What the fake truly did, to compare with what a library in front of it saw.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fake_cuda {

#define FAKE_CUDA_COUNTS(ROW)                                     \
  ROW(kernel_launches)      /* by the host; graphs aside */       \
  ROW(cooperative_launches) /* of these */                        \
  ROW(green_launches)       /* of these, into green contexts */   \
  ROW(graph_launches)                                             \
  ROW(graph_nodes)        /* that ran in graphs */                \
  ROW(graph_kernel_nodes) /* of these */                          \
  ROW(copies)                                                     \
  ROW(copy_bytes)                                                 \
  ROW(sets)                                                       \
  ROW(set_bytes)                                                  \
  ROW(host_functions)                                             \
  ROW(value_writes)                                               \
  ROW(value_waits)                                                \
  ROW(event_records)                                              \
  ROW(synchronizations)                                           \
  ROW(allocations)                                                \
  ROW(refused_allocations) /* the device had not enough memory */ \
  ROW(allocated_bytes)     /* of device memory, now */            \
  ROW(allocated_peak)                                             \
  ROW(captures)                                                   \
  ROW(captured_nodes)                                             \
  ROW(capture_violations) /* calls that broke a capture, or would */

enum class Count : int {
#define FAKE_CUDA_ROW(name) name,
  FAKE_CUDA_COUNTS(FAKE_CUDA_ROW)
#undef FAKE_CUDA_ROW
      Count
};
inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::Count);

inline constexpr std::array<std::string_view, kCounts> kCountNames{
#define FAKE_CUDA_ROW(name) #name,
    FAKE_CUDA_COUNTS(FAKE_CUDA_ROW)
#undef FAKE_CUDA_ROW
};

// Lies in memory that processes share.
struct Counts {
  std::array<std::atomic<std::uint64_t>, kCounts> values;

  std::atomic<std::uint64_t>& operator[](Count count) {
    return values.at(static_cast<std::size_t>(count));
  }
  void add(Count count, std::uint64_t more = 1) {
    (*this)[count].fetch_add(more, std::memory_order_relaxed);
  }
};

}  // namespace fake_cuda
