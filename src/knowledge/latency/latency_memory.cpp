#include "knowledge/latency/latency_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace carpool::knowledge {
namespace {

constexpr double kLeastVariance = 0.03 * 0.03;  // latencies differ from run to run
constexpr double kKnownVariance = 0.25 * 0.25;  // with more it counts as unknown
constexpr double kSameQuantile = 1e-6;
constexpr double kSameSlo = 1.25;  // at most this ratio
constexpr std::uint32_t kNoWorkload = ~std::uint32_t{0};

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
  const auto [place, is_new] = entries_.try_emplace(key, measured);
  Entry& entry = place->second;
  if (is_new || !same_goal(key, entry.goal, measured.goal)) {
    entry = measured;
  } else {
    entry.goal = measured.goal;
    entry.requests += measured.requests;
    for (const auto number : kNumbers) {
      learn(entry.*number, measured.*number);
    }
  }
  make_consistent(entry);
  make_room();
}

void LatencyMemory::put(Key key, const Entry& entry) {
  make_consistent(entries_.insert_or_assign(std::move(key), entry).first->second);
}

const LatencyMemory::Entry* LatencyMemory::find(const Key& key,
                                                const LatencyGoal& goal,
                                                double now_s) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !same_goal(key, found->second.goal, goal) ||
      aged_variance(found->second.log_tail_ms, kForgottenLatencyVariance, now_s) > kKnownVariance) {
    return nullptr;
  }
  return &found->second;
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
  std::map<Key, Entry> kept;
  for (const auto& [key, entry] : entries_) {
    Key renamed = key;
    renamed.workload = numbers[key.workload];
    bool whole = renamed.workload != kNoWorkload;
    for (Neighbour& neighbour : renamed.beside) {
      neighbour.workload = numbers[neighbour.workload];
      whole = whole && neighbour.workload != kNoWorkload;
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
