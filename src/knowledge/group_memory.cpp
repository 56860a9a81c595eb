#include "knowledge/group_memory.hpp"

#include <algorithm>

namespace carpool::knowledge {
namespace {

// A speed that was measured once is known to 4 %; run to run it differs by 2 %.
constexpr double kSpeedVariance = 0.04 * 0.04;
constexpr double kLeastSpeedVariance = 0.02 * 0.02;
constexpr double kForgottenSpeedVariance = 1.0;
constexpr std::uint32_t kDropped = ~std::uint32_t{0};

}  // namespace

void GroupMemory::saw(const Key& group, const Speed& measured) {
  Entry& entry = entries_[group];
  const double at_s = measured.log_rate.at_s;
  entry.at_s = std::max(entry.at_s, at_s);
  const auto known = std::ranges::find(entry.speeds, measured.workload, &Speed::workload);
  if (known == entry.speeds.end()) {
    entry.speeds.push_back(measured);
    entry.speeds.back().log_rate.variance = kSpeedVariance;
    std::ranges::sort(entry.speeds, {}, &Speed::workload);
    make_room();
    return;
  }
  if (known->source != measured.source) {
    *known = measured;
    known->log_rate.variance = kSpeedVariance;
    return;
  }
  Believed& rate = known->log_rate;
  make_current(rate, kForgottenSpeedVariance, at_s);
  correct(rate, 1.0, measured.log_rate.mean - rate.mean, rate.variance + kSpeedVariance);
  rate.variance = std::max(rate.variance, kLeastSpeedVariance);
}

const GroupMemory::Entry* GroupMemory::find(const Key& group) const {
  const auto found = entries_.find(group);
  return found == entries_.end() ? nullptr : &found->second;
}

const GroupMemory::Speed* GroupMemory::speed(const Entry& entry, std::uint32_t workload) {
  const auto found = std::ranges::find(entry.speeds, workload, &Speed::workload);
  return found == entry.speeds.end() ? nullptr : &*found;
}

void GroupMemory::make_room() {
  if (entries_.size() <= kMostGroups) {
    return;
  }
  // A tenth at a time: the search for the oldest looks at all of them.
  std::vector<double> times;
  times.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    times.push_back(entry.at_s);
  }
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::ranges::nth_element(times, last);
  const double oldest_kept = *last;
  std::size_t excess = std::max(times.size() / 10, entries_.size() - kMostGroups);
  for (auto at = entries_.begin(); at != entries_.end() && excess > 0;) {
    const bool old = at->second.at_s <= oldest_kept;
    at = old ? entries_.erase(at) : std::next(at);
    excess -= old ? 1 : 0;
  }
}

void GroupMemory::renumber(std::span<const std::uint32_t> numbers) {
  std::map<Key, Entry> kept;
  for (auto& [key, entry] : entries_) {
    Key renamed;
    for (const std::uint32_t workload : key) {
      renamed.push_back(numbers[workload]);
    }
    if (std::ranges::count(renamed, kDropped) > 0) {
      continue;
    }
    for (Speed& speed : entry.speeds) {
      speed.workload = numbers[speed.workload];
    }
    // Numbers keep their order when some are dropped.
    kept.emplace_hint(kept.end(), std::move(renamed), std::move(entry));
  }
  entries_ = std::move(kept);
}

void GroupMemory::weaken(double weight) {
  for (auto& [key, entry] : entries_) {
    for (Speed& speed : entry.speeds) {
      Believed& rate = speed.log_rate;
      rate.variance = weakened(rate.variance, kForgottenSpeedVariance, weight);
    }
  }
}

}  // namespace carpool::knowledge
