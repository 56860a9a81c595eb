// The rule of admission, without atomics and processes.
#pragma once

#include <cstdint>

#include "interpose/guard/memory_guard.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

// What is used, the request of the client included.
struct MemoryDemand {
  std::uint64_t job = 0;       // by all processes of the client's job
  std::uint64_t gpu = 0;       // by all jobs and by foreign processes
  std::uint64_t unfilled = 0;  // sum over the jobs of what is missing to their guarantee
};

struct MemoryRules {
  std::uint64_t limit = kUnlimited;
  std::uint64_t guarantee = 0;
  std::uint64_t total = 0;  // 0: unknown
  std::uint64_t headroom = 0;
  JobClass job_class = JobClass::BestEffort;
};

// A job of class SLO may take what the GPU has. A best-effort job leaves what is missing to the
// guarantees of others; up to its own guarantee nothing is in its way but the GPU's memory.
[[nodiscard]] Verdict judge(const MemoryDemand& demand, const MemoryRules& rules);

// Sums over the slots; `asked` counts announced requests as well.
struct SlotSums {
  MemoryDemand used;
  MemoryDemand asked;
  MemoryRules rules;
  bool lower_slot_asks = false;  // a client in a slot before that of the caller
};
// `bytes` is the request of the client, which it has announced in its slot or, if not, is 0.
[[nodiscard]] SlotSums sum_slots(const SharedState& state, std::uint32_t slot, std::uint64_t bytes);

}  // namespace carpool::interpose
