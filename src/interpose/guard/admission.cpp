#include "interpose/guard/admission.hpp"

#include <algorithm>
#include <array>

#include "interpose/guard/checked_word.hpp"
#include "interpose/guard/owned_amount.hpp"
#include "interpose/state/slot_bits.hpp"

namespace carpool::interpose {
namespace {

using JobAmounts = std::array<std::uint64_t, kJobSlots>;

// What the clients of each job use, contexts included, and ask for.
struct Collected {
  JobAmounts used{};
  JobAmounts asking{};
  std::uint64_t used_by_all = 0;
  std::uint64_t asked_by_all = 0;
  bool lower_slot_asks = false;
};

Collected collect(const SharedState& state, std::uint32_t slot) {
  Collected into;
  for_each_bit(
      state.gpu.live_slots_low.load(), state.gpu.live_slots_high.load(), [&](std::uint32_t other) {
        const ClientSlot& client = state.clients[other];
        // A request that is admitted meanwhile passes from `asking` to `used`: in this
        // order it is seen in one of them.
        const std::uint64_t asking = amount_of(client.memory.asking.load());
        const std::uint64_t allocated = client.memory.used.load();
        const std::uint64_t used =
            amount_of(allocated) + read_context(client.memory.context, generation_of(allocated));
        const std::uint64_t job = client.job_index.load(std::memory_order_relaxed);
        into.used_by_all += used;
        into.asked_by_all += asking;
        if (job < kJobSlots) {
          into.used[job] += used;
          into.asking[job] += asking;
        }
        into.lower_slot_asks |= other < slot && asking != 0;
      });
  return into;
}

}  // namespace

const char* describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::Admitted:
      return "admitted";
    case Verdict::OverLimit:
      return "the job would exceed its memory limit";
    case Verdict::OverTotal:
      return "the GPU has not enough memory";
    case Verdict::KeptForGuarantees:
      return "the memory that is left is guaranteed to other jobs";
  }
  return "unknown";
}

Verdict judge(const MemoryDemand& demand, const MemoryRules& rules) {
  if (demand.job > rules.limit) {
    return Verdict::OverLimit;
  }
  if (rules.total == 0) {
    return Verdict::Admitted;
  }
  const std::uint64_t usable = rules.total - std::min(rules.total, rules.headroom);
  if (demand.gpu > usable) {
    return Verdict::OverTotal;
  }
  if (rules.job_class == JobClass::Slo || demand.job <= rules.guarantee) {
    return Verdict::Admitted;
  }
  return demand.unfilled > usable - demand.gpu ? Verdict::KeptForGuarantees : Verdict::Admitted;
}

SlotSums sum_slots(const SharedState& state, std::uint32_t slot, std::uint64_t bytes) {
  const Collected seen = collect(state, slot);
  SlotSums sums;
  sums.lower_slot_asks = seen.lower_slot_asks;
  sums.rules.total = read_checked(state.gpu.total_bytes, 0);
  sums.rules.headroom = read_checked(state.gpu.headroom_bytes, 0);
  const std::uint64_t foreign = read_checked(state.gpu.foreign_bytes, 0);
  const std::uint64_t own = state.clients[slot].job_index.load(std::memory_order_relaxed);
  sums.used.gpu = foreign + seen.used_by_all + bytes;
  sums.asked.gpu = foreign + seen.used_by_all + seen.asked_by_all;
  if (own < kJobSlots) {
    const JobEntry& job = state.jobs[own];
    sums.used.job = seen.used[own] + bytes;
    sums.asked.job = seen.used[own] + seen.asking[own];
    sums.rules.limit = read_checked(job.limit_bytes, kUnlimited);
    sums.rules.guarantee = read_checked(job.guarantee_bytes, 0);
    sums.rules.job_class =
        static_cast<JobClass>(job.job_class.load(std::memory_order_relaxed) & 1U);
  }
  for_each_bit(
      state.gpu.live_jobs_low.load(), state.gpu.live_jobs_high.load(), [&](std::uint32_t index) {
        const std::uint64_t kept = read_checked(state.jobs[index].guarantee_bytes, 0);
        const std::uint64_t used = seen.used[index] + (index == own ? bytes : 0);
        const std::uint64_t asked = seen.used[index] + seen.asking[index];
        sums.used.unfilled += kept - std::min(kept, used);
        sums.asked.unfilled += kept - std::min(kept, asked);
      });
  return sums;
}

}  // namespace carpool::interpose
