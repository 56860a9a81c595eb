// The window file: memory shared between the server and all processes of a job that
// libcarpool_profile.so is loaded into. The server orders a window of a few seconds; each process
// subscribes to CUPTI for the window only and answers in a slot of its own. The file belongs to the
// user of the job, so the server reads and writes it, but never maps it: a file that shrinks would
// end the server. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace carpool::gpu::window_format {

inline constexpr std::uint64_t kMagic = 0x014E495743504143;  // "CAPCWIN\1"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kSlots = 62;
inline constexpr const char* kVariable = "CARPOOL_WINDOW_FILE";
inline constexpr std::uint32_t kLongestMs = 10'000;

enum class State : std::uint32_t {
  None = 0,
  Open = 1,
  Done = 2,
  Busy = 3,     // another tool is subscribed to CUPTI in this process
  NoCupti = 4,  // not found, or of an unknown version
  Refused = 5,  // by CUPTI, with its code
  Spoiled = 6,  // the process stood still meanwhile, or ended
  Unseen = 7,   // kernels ran of which there are no records, or graphs, which are left alone
};

enum class Kind : std::uint32_t {
  Launches = 0,  // counts launches
  Kernels = 1,   // also records kernels, and answers with their summary
};

struct Order {
  std::atomic<std::uint32_t> number{0};  // of the last window; 0: none. Written after the rest
  std::uint32_t length_ms = 0;
  std::int64_t start_ns = 0;  // the same for all jobs that are compared
  std::uint32_t kind = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Order) == 24);

// The kernels of a process in a window. Shares are in millionths.
struct Kernels {
  std::uint64_t count = 0;   // 0: no kernels were recorded
  std::uint32_t busy = 0;    // time in which at least one kernel ran
  std::uint32_t active = 0;  // mean share of the SMs that held a block
  std::uint32_t fill = 0;    // the same while kernels ran, weighted by kernel time
  std::uint32_t warps = 0;   // share of the resident warps that the GPU can hold, weighted likewise
  std::uint32_t mean_ns = 0;
  std::uint32_t p90_ns = 0;
};
static_assert(sizeof(Kernels) == 32);

// One process. `state` is written after the rest.
struct Slot {
  std::atomic<std::uint32_t> pid{0};  // 0: free
  std::uint32_t window = 0;           // number of the order that it answers
  std::atomic<std::uint32_t> state{0};
  std::int32_t code = 0;  // of CUPTI, where it refused
  std::uint64_t launches = 0;
  std::int64_t over_ns = 0;  // time in which they were counted
  Kernels kernels{};
};
static_assert(sizeof(Slot) == 64);

struct Block {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
  Order order;
  std::array<std::uint64_t, 3> reserved2{};
  std::array<Slot, kSlots> slots{};
};
static_assert(sizeof(Block) == 64 + kSlots * sizeof(Slot));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace carpool::gpu::window_format
