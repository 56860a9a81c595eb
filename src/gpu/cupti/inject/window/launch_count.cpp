#include "gpu/cupti/inject/window/launch_count.hpp"

#include <algorithm>

namespace carpool::gpu::inject {
namespace {

constexpr std::int64_t kShortestGapNs = 2'000'000;
constexpr std::size_t kEnoughPeriods = 4;  // bursts; one less lies between the first and the last

}  // namespace

void LaunchCount::begin(std::int64_t now_ns) {
  launches_ = 0;
  noted_ = 0;
  last_ns_ = now_ns;
  from_ns_ = now_ns;
}

void LaunchCount::launch(std::int64_t now_ns, bool graph) {
  if (graph && !graph_seen()) {
    graph_seen_.store(true, std::memory_order_relaxed);
  }
  const std::int64_t gap = now_ns - last_ns_.exchange(now_ns, std::memory_order_relaxed);
  const std::uint64_t before = launches_.fetch_add(1, std::memory_order_relaxed);
  if (gap < kShortestGapNs) {
    return;
  }
  const std::size_t place = noted_.fetch_add(1, std::memory_order_relaxed);
  if (place < kMostBursts) {
    bursts_[place].before.store(before, std::memory_order_relaxed);
    bursts_[place].gap_ns.store(gap, std::memory_order_relaxed);
    bursts_[place].at_ns.store(now_ns, std::memory_order_release);
  }
}

// Bursts after the longest gaps. Shorter gaps divide a period.
LaunchCount::Periods LaunchCount::periods(std::int64_t now_ns) const {
  const std::size_t noted = std::min(noted_.load(std::memory_order_acquire), kMostBursts);
  std::int64_t longest = 0;
  // The gap before the first burst is cut off by the start of the window.
  for (std::size_t i = 1; i < noted; ++i) {
    longest = std::max(longest, bursts_[i].gap_ns.load(std::memory_order_relaxed));
  }
  longest = std::max(longest, now_ns - last_ns_.load(std::memory_order_relaxed));
  Periods found{.longest_gap_ns = longest};
  for (std::size_t i = 0; i < noted; ++i) {
    const Burst& burst = bursts_[i];
    const std::int64_t at = burst.at_ns.load(std::memory_order_acquire);
    const std::int64_t gap = burst.gap_ns.load(std::memory_order_relaxed);
    if (at < from_ns_ || at > now_ns || gap < longest / 2) {
      continue;
    }
    // Of two threads the one that launched first may be noted last.
    const bool earliest =
        found.first == nullptr || at < found.first->at_ns.load(std::memory_order_relaxed);
    const bool latest =
        found.last == nullptr || at > found.last->at_ns.load(std::memory_order_relaxed);
    found.first = earliest ? &burst : found.first;
    found.last = latest ? &burst : found.last;
    ++found.bursts;
  }
  return found;
}

LaunchCount::Counted LaunchCount::until(std::int64_t now_ns) const {
  const Periods found = periods(now_ns);
  const std::int64_t between =
      found.bursts >= 2 ? found.last->at_ns.load() - found.first->at_ns.load() : 0;
  // Bursts in one part of the window say nothing of the rest.
  if (between > (now_ns - from_ns_) / 2 && noted_.load(std::memory_order_relaxed) <= kMostBursts) {
    const std::uint64_t first = found.first->before.load();
    const std::uint64_t last = found.last->before.load();
    return {.launches = last - std::min(first, last), .over_ns = between};
  }
  return {.launches = launches_.load(std::memory_order_relaxed), .over_ns = now_ns - from_ns_};
}

bool LaunchCount::is_coarse(std::int64_t now_ns) const {
  const Periods found = periods(now_ns);
  return found.longest_gap_ns > (now_ns - from_ns_) / 16 && found.bursts < kEnoughPeriods;
}

}  // namespace carpool::gpu::inject
