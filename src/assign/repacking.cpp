#include "assign/repacking.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "assign/arrangement_gain.hpp"
#include "assign/random_choice.hpp"

namespace carpool::assign {
namespace {

// Items that are repacked together: 3^9 combinations take 30 microseconds.
constexpr std::size_t kRepackItems = 9;
constexpr std::size_t kMostRepackItems = 12;

}  // namespace

void Repacking::run() {
  const std::size_t count = std::max<std::size_t>(2, kRepackItems / limits_.max_per_gpu);
  if (seats_.gpus() < 2 || count * limits_.max_per_gpu > kMostRepackItems) {
    return;
  }
  const std::size_t patience = std::min(20 * seats_.gpus(), 1'000 + 5 * seats_.gpus());
  std::size_t quiet = 0;
  for (std::size_t step = 0; step < 8 * patience && quiet < patience; ++step) {
    if (values_.asked() > limits_.forecasts) {
      return;
    }
    quiet = repack(count) ? 0 : quiet + 1;
  }
}

bool Repacking::repack(std::size_t count) {
  std::vector<std::size_t> chosen = random_sample(engine_, seats_.gpus(), count);
  const std::size_t bins = chosen.size();
  if (seats_.places() > seats_.gpus()) {
    chosen.push_back(seats_.gpus() + random_below(engine_, seats_.places() - seats_.gpus()));
  }
  std::vector<Item> items;
  SeatingGain before;
  for (const std::size_t where : chosen) {
    const std::span<const Item> members = seats_.members(where);
    items.insert(items.end(), members.begin(), members.end());
    before.worth += seats_.worth_now(where);
    before.placed += seats_.on_gpu(where) ? static_cast<int>(members.size()) : 0;
  }
  std::vector<double> worths(std::size_t{1} << items.size(), kForbidden);
  std::vector<Seating::Key> keys;
  std::vector<ItemSet> sets;
  for (ItemSet set = 1; set < worths.size(); ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) <= limits_.max_per_gpu) {
      keys.push_back(values_.key(items, set));
      sets.push_back(set);
    }
  }
  values_.require(keys);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    worths[sets[i]] = seats_.worth(chosen.front(), keys[i]);
  }
  const std::vector<ItemSet> groups = best_partition(items.size(), bins, worths);
  SeatingGain difference{.placed = -before.placed, .worth = -before.worth};
  for (const ItemSet group : groups) {
    difference.placed += std::popcount(group);
    difference.worth += worths[group];
  }
  if (!difference.helps(before.worth)) {
    return false;
  }
  refill(chosen, items, groups);
  return true;
}

void Repacking::refill(std::span<const std::size_t> chosen,
                       std::span<const Item> items,
                       std::span<const ItemSet> groups) {
  std::ranges::for_each(items, [this](Item item) { seats_.take(item); });
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto group =
        std::ranges::find_if(groups, [i](ItemSet set) { return (set >> i & 1U) != 0; });
    // At most one place outside was chosen, the last, and no fewer items are placed than before.
    seats_.put(items[i],
               group == groups.end() ? chosen.back()
                                     : chosen[static_cast<std::size_t>(group - groups.begin())]);
  }
}

}  // namespace carpool::assign
