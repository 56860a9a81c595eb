#include "knowledge/latency/latency_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {
namespace {

constexpr double kLeastVariance = 0.03 * 0.03;  // latencies differ from run to run
constexpr double kKnownVariance = 0.25 * 0.25;  // with more it counts as unknown
constexpr double kSameQuantile = 1e-6;
constexpr double kSameSlo = 1.25;  // at most this ratio

using Entry = LatencyMemory::Entry;
constexpr std::array kNumbers = {&Entry::log_p50_ms,
                                 &Entry::log_tail_ms,
                                 &Entry::log_rate,
                                 &Entry::log_service_ms,
                                 &Entry::log_service_square_ms2};

bool same_goal(const LatencyMemory::Key& key, const LatencyGoal& one, const LatencyGoal& other) {
  const auto [less, more] = std::minmax(one.slo_ms, other.slo_ms);
  return std::abs(one.quantile - other.quantile) <= kSameQuantile &&
         (key.beside.empty() || more <= less * kSameSlo);
}

// Of those whose goal counts as the same: the one with the nearest SLO, or null.
template <typename Entries, typename Condition>
auto nearest(Entries& entries,
             const LatencyMemory::Key& key,
             const LatencyGoal& goal,
             const Condition& counts) {
  auto [at, end] = entries.equal_range(key);
  decltype(&at->second) found = nullptr;
  const auto distance = [&](const Entry& entry) {
    return std::abs(entry.goal.slo_ms - goal.slo_ms);
  };
  for (; at != end; ++at) {
    auto& entry = at->second;
    if (same_goal(key, entry.goal, goal) && counts(entry) &&
        (found == nullptr || distance(entry) < distance(*found))) {
      found = &entry;
    }
  }
  return found;
}

// Each number is learned by itself, the less certain ones faster.
void make_consistent(Entry& entry) {
  for (const auto number : kNumbers) {
    Believed& known = entry.*number;
    known.variance = std::clamp(known.variance, kLeastVariance, kForgottenLatencyVariance);
  }
  entry.log_tail_ms.mean = std::max(entry.log_tail_ms.mean, entry.log_p50_ms.mean);
  entry.log_service_square_ms2.mean =
      std::max(entry.log_service_square_ms2.mean, 2.0 * entry.log_service_ms.mean);
}

void learn(Believed& number, const Believed& measured) {
  make_current(number, kForgottenLatencyVariance, measured.at_s);
  correct(number, 1.0, measured.mean - number.mean, number.variance + measured.variance);
}

}  // namespace

void LatencyMemory::saw(const Key& key, const Entry& measured) {
  Entry* const known = nearest(entries_, key, measured.goal, [](const Entry&) { return true; });
  if (known == nullptr) {
    put(key, measured);
    make_room();
    return;
  }
  known->goal = measured.goal;
  known->requests += measured.requests;
  for (const auto number : kNumbers) {
    learn(known->*number, measured.*number);
  }
  make_consistent(*known);
}

void LatencyMemory::put(Key key, const Entry& entry) {
  make_consistent(entries_.emplace(std::move(key), entry)->second);
}

const LatencyMemory::Entry* LatencyMemory::find(const Key& key,
                                                const LatencyGoal& goal,
                                                double now_s) const {
  return nearest(entries_, key, goal, [now_s](const Entry& entry) {
    return aged_variance(entry.log_tail_ms, kForgottenLatencyVariance, now_s) <= kKnownVariance;
  });
}

void LatencyMemory::make_room() {
  if (entries_.size() <= kMostEntries) {
    return;
  }
  // A tenth at a time: the search for the oldest looks at all of them.
  std::vector<double> times;
  times.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    times.push_back(entry.log_tail_ms.at_s);
  }
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::ranges::nth_element(times, last);
  const double oldest_kept = *last;
  std::size_t excess = times.size() / 10;
  std::erase_if(entries_, [&](const auto& item) {
    const bool old = excess > 0 && item.second.log_tail_ms.at_s <= oldest_kept;
    excess -= old ? 1 : 0;
    return old;
  });
}

void LatencyMemory::renumber(std::span<const std::uint32_t> numbers) {
  std::multimap<Key, Entry> kept;
  for (const auto& [key, entry] : entries_) {
    Key renamed = key;
    renamed.workload = numbers[key.workload];
    bool whole = renamed.workload != kNone;
    for (Neighbour& neighbour : renamed.beside) {
      neighbour.workload = numbers[neighbour.workload];
      whole = whole && neighbour.workload != kNone;
    }
    if (whole) {
      // Numbers keep their order when some are dropped.
      kept.emplace_hint(kept.end(), std::move(renamed), entry);
    }
  }
  entries_ = std::move(kept);
}

void LatencyMemory::weaken(double weight) {
  for (auto& [key, entry] : entries_) {
    for (const auto number : kNumbers) {
      Believed& known = entry.*number;
      known.variance = weakened(known.variance, kForgottenLatencyVariance, weight);
    }
  }
}

}  // namespace carpool::knowledge
