// Memory that no call of a program shows, from what the driver tells of processes: contexts and
// modules of clients, and all that processes without a slot have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "interpose/state/reader.hpp"

namespace carpool::interpose {

// A process on the GPU, as NVML tells.
struct ProcessMemory {
  pid_t pid = 0;
  std::optional<std::uint64_t> bytes{};  // absent: not told
};

// More is not charged to a job as the context of one process: it counts as foreign. So a reading
// that is wrong refuses a job no more than this for each of its processes.
inline constexpr std::uint64_t kMostContext = std::uint64_t{2} << 30U;

struct MemoryAccounts {
  std::uint64_t foreign_bytes = 0;
  struct Context {
    ClientId client;
    std::uint64_t bytes = 0;
  };
  std::vector<Context> contexts;        // of clients whose memory the driver tells
  std::vector<ProcessMemory> slotless;  // processes that are not clients
};

// Of one GPU and one user.
class MemoryAccountant {
 public:
  // `before` and `after` are the state before and after the driver was asked for its processes: a
  // program allocates and frees meanwhile. The context of a client is the least of what the last
  // readings leave beside its allocations.
  [[nodiscard]] MemoryAccounts add(const StateReport& before,
                                   const std::vector<ProcessMemory>& processes,
                                   const StateReport& after);

 private:
  static constexpr std::size_t kReadings = 3;
  struct Known {
    ClientId client;
    std::array<std::uint64_t, kReadings> beside{};
    std::size_t count = 0;  // of readings ever
  };
  [[nodiscard]] std::uint64_t least_beside(ClientId client, std::uint64_t bytes);

  std::vector<Known> known_;
};

// Writes them; None if all was written.
[[nodiscard]] StateError write_accounts(StateReader& state, const MemoryAccounts& accounts);

}  // namespace carpool::interpose
