#include "interpose/guard/memory_guard.hpp"

#include <algorithm>
#include <poll.h>
#include <sched.h>

#include "interpose/guard/admission.hpp"
#include "interpose/guard/owned_amount.hpp"

namespace carpool::interpose {
namespace {

// A process that is stopped while it asks delays others by about 200 ms, no more.
constexpr int kYields = 256;
constexpr int kRounds = kYields + 200;

// More than any GPU has; sums of such requests stay far below the 48 bits of an amount.
constexpr std::uint64_t kMostRequest = std::uint64_t{1} << 44U;

void pause_for(int round) {
  if (round < kYields) {
    ::sched_yield();
  } else {
    ::poll(nullptr, 0, 1);
  }
}

void raise_peak(SharedWord& peak, std::uint64_t used) {
  std::uint64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < used && !peak.compare_exchange_weak(seen, used, std::memory_order_relaxed)) {
  }
}

}  // namespace

Verdict MemoryGuard::charge(std::uint64_t bytes) {
  Answer answer = ask(bytes);
  if (answer.verdict != Verdict::Admitted && answer.conflict) {
    answer = ask_until_decided(bytes);
  }
  // What a killed process used may be free.
  if (answer.verdict != Verdict::Admitted && bytes <= kMostRequest) {
    client_.reclaim_dead();
    answer = ask_until_decided(bytes);
  }
  ClientCounters& counters = client_.counters();
  SharedWord& counted =
      answer.verdict == Verdict::Admitted ? counters.allocations : counters.refusals;
  counted.fetch_add(1, std::memory_order_relaxed);
  return answer.verdict;
}

MemoryGuard::Answer MemoryGuard::look(std::uint64_t bytes) {
  const SharedState* shared = client_.shared();
  const ClientId own = client_.id();
  if (shared == nullptr || !own.valid()) {
    return {};
  }
  const SlotSums sums = sum_slots(*shared, own.slot, bytes);
  Answer answer;
  answer.verdict = judge(sums.asked, sums.rules);
  if (answer.verdict != Verdict::Admitted) {
    const Verdict without_others = judge(sums.used, sums.rules);
    answer.conflict = without_others == Verdict::Admitted;
    answer.verdict = answer.conflict ? answer.verdict : without_others;
    answer.lower_slot_asks = sums.lower_slot_asks;
  }
  return answer;
}

MemoryGuard::Answer MemoryGuard::ask(std::uint64_t bytes) {
  if (bytes > kMostRequest) {
    return {.verdict = Verdict::OverTotal};
  }
  if (!add_amount(client_.slot().memory.asking, client_.id().generation, bytes)) {
    // The slot is another client's, so it tells nothing about this one.
    return {};
  }
  const Answer answer = look(bytes);
  if (answer.verdict == Verdict::Admitted) {
    settle(bytes);
  } else {
    withdraw(bytes);
  }
  return answer;
}

MemoryGuard::Answer MemoryGuard::ask_until_decided(std::uint64_t bytes) {
  int round = 0;
  while (deciding_.exchange(true, std::memory_order_acquire) && round < kRounds) {
    pause_for(round++);
  }
  Answer answer;
  bool announced = false;
  const std::uint16_t generation = client_.id().generation;
  for (round = 0; round < kRounds; ++round) {
    if (!announced && !add_amount(client_.slot().memory.asking, generation, bytes)) {
      break;
    }
    announced = true;
    answer = look(bytes);
    if (answer.verdict == Verdict::Admitted || !answer.conflict) {
      break;
    }
    // The client in the lowest slot keeps its request; the others make room for it.
    if (answer.lower_slot_asks) {
      withdraw(bytes);
      announced = false;
    }
    pause_for(round);
    if (round == kYields) {
      client_.reclaim_dead();
    }
  }
  if (announced && answer.verdict == Verdict::Admitted) {
    settle(bytes);
  } else if (announced) {
    withdraw(bytes);
  }
  deciding_.store(false, std::memory_order_release);
  return answer;
}

// First `used`, so that the request is seen in one of the two at any time.
void MemoryGuard::settle(std::uint64_t bytes) {
  charge_existing(bytes);
  withdraw(bytes);
}

void MemoryGuard::withdraw(std::uint64_t bytes) {
  take_amount(client_.slot().memory.asking, client_.id().generation, bytes);
}

void MemoryGuard::charge_existing(std::uint64_t bytes) {
  ClientMemory& memory = client_.slot().memory;
  if (add_amount(memory.used, client_.id().generation, bytes)) {
    raise_peak(memory.peak, amount_of(memory.used.load(std::memory_order_relaxed)));
  }
}

std::uint64_t MemoryGuard::release(std::uint64_t bytes) {
  return take_amount(client_.slot().memory.used, client_.id().generation, bytes);
}

MemoryView MemoryGuard::view() {
  MemoryView view;
  const SharedState* shared = client_.shared();
  const ClientId own = client_.id();
  if (shared == nullptr || !own.valid()) {
    view.job_used = amount_of(client_.slot().memory.used.load(std::memory_order_relaxed));
    view.gpu_used = view.job_used;
    return view;
  }
  const SlotSums sums = sum_slots(*shared, own.slot, 0);
  view.job_used = sums.used.job;
  view.gpu_used = sums.used.gpu;
  view.job_limit = sums.rules.limit;
  view.gpu_total = sums.rules.total;
  view.available = sums.rules.limit - std::min(sums.rules.limit, sums.used.job);
  if (sums.rules.total != 0) {
    const std::uint64_t taken = sums.used.gpu + sums.rules.headroom;
    const std::uint64_t free = sums.rules.total - std::min(sums.rules.total, taken);
    const std::uint64_t own_guarantee =
        sums.rules.guarantee - std::min(sums.rules.guarantee, sums.used.job);
    // Others' guarantees are kept; what is missing to the own one is not kept from the job itself.
    const std::uint64_t kept =
        sums.rules.job_class == JobClass::Slo ? 0 : sums.used.unfilled - own_guarantee;
    const std::uint64_t unkept = free - std::min(free, kept);
    view.available = std::min(view.available, std::max(unkept, std::min(free, own_guarantee)));
  }
  return view;
}

}  // namespace carpool::interpose
