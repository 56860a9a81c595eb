#include "place/local_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "place/admission.hpp"
#include "place/seating.hpp"
#include "place/subset_search.hpp"

namespace carpool {
namespace {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();
// Places that one item looks at in one round of the descent, and rounds without a change that end
// it; each round looks at other places.
constexpr std::size_t kLook = 32;
constexpr std::size_t kMaxRounds = 40;
constexpr std::size_t kQuietRounds = 3;
// Failures in a row that end the raising of a bottleneck.
constexpr std::size_t kRaiseAttempts = 8;
// Items that are repacked together: 3^9 combinations take 30 microseconds.
constexpr std::size_t kRepackItems = 9;
constexpr std::size_t kMostRepackItems = 12;
// Forecasts an item after which the descent, and the whole search, comes to its end: a second or
// two for a thousand items.
constexpr std::size_t kDescentForecasts = 500;
constexpr std::size_t kForecasts = 700;
// Groups an item that are looked at in all to admit those left over.
constexpr std::size_t kAdmissionChecks = 3'000;

// What a change brings: further items placed decide, then the worth of the groups.
struct Gain {
  int placed = 0;
  double worth = 0.0;

  [[nodiscard]] auto operator<=>(const Gain&) const = default;
};

// More than what rounding makes of a sum near `worth_before`.
bool helps(const Gain& gain, double worth_before) {
  constexpr double kRounding = 1e-12;
  return gain.placed > 0 ||
         (gain.placed == 0 && gain.worth > kRounding * (1.0 + std::abs(worth_before)));
}

// One search, in four phases:
// 1. place(): each item where it adds most, the largest in memory first;
// 2. descend(): an item moves, or swaps with another, while that helps;
// 3. those left over are admitted if others can move on, and then descend() again;
// 4. repack(): a few GPUs at random are emptied and filled again in the best way there is;
// 5. for a bottleneck raise(): the worst group is dissolved and its members admitted elsewhere,
// with
//    nothing as bad allowed, for as long as that works.
class LocalSearch {
 public:
  LocalSearch(GroupValues& values, const LocalSearchOptions& options)
      : values_(values),
        max_per_gpu_(options.max_per_gpu),
        bottleneck_(options.bottleneck),
        engine_(options.seed),
        seats_(values,
               {.gpus = std::min(options.gpus, values.items()),
                .max_per_gpu = options.max_per_gpu,
                .bottleneck = options.bottleneck}),
        admission_(values,
                   seats_,
                   engine_,
                   {.forecasts = kForecasts * values.items(),
                    .checks = kAdmissionChecks * values.items()}) {}

  [[nodiscard]] Grouping run() {
    place();
    descend();
    if (admission_.run()) {
      descend();
    }
    repack();
    if (bottleneck_) {
      raise();
    }
    return seats_.groups();
  }

 private:
  using Key = GroupValues::Key;

  // `item` goes to `to`; with `other`, that comes back in exchange.
  struct Change {
    std::size_t to = 0;
    std::optional<Item> other = std::nullopt;
    Key left = {};     // what stays on the item's place
    Key arrived = {};  // what is on `to` then
  };

  void place();
  void place_one(Item item);
  void descend();
  [[nodiscard]] bool improve(Item item);
  [[nodiscard]] std::vector<Change> changes(Item item);
  void apply(Item item, const Change& change);
  void repack();
  void raise();
  [[nodiscard]] bool repack_once(std::size_t count);
  void refill(std::span<const std::size_t> chosen,
              std::span<const Item> items,
              std::span<const ItemSet> groups);

  // std::uniform_int_distribution differs between standard libraries; the answer must not.
  [[nodiscard]] std::size_t random_below(std::size_t count) {
    return static_cast<std::size_t>(engine_() % count);
  }

  // So many of 0 … `from` - 1, all different, at random; all in order when there are no more.
  [[nodiscard]] std::vector<std::size_t> sample(std::size_t from, std::size_t count) {
    std::vector<std::size_t> chosen;
    if (from <= count) {
      chosen.resize(from);
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
      return chosen;
    }
    while (chosen.size() < count) {
      const std::size_t next = random_below(from);
      if (std::ranges::find(chosen, next) == chosen.end()) {
        chosen.push_back(next);
      }
    }
    return chosen;
  }

  [[nodiscard]] std::vector<Item> shuffled_items() {
    std::vector<Item> order(values_.items());
    std::iota(order.begin(), order.end(), Item{0});
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_below(i)]);
    }
    return order;
  }

  GroupValues& values_;
  std::size_t max_per_gpu_;
  bool bottleneck_;
  std::mt19937_64 engine_;
  Seating seats_;
  Admission admission_;
};

void LocalSearch::place() {
  std::vector<Item> order(values_.items());
  std::iota(order.begin(), order.end(), Item{0});
  std::ranges::sort(
      order, {}, [this](Item item) { return std::pair(-values_.memory_gib(item), item); });
  for (const Item item : order) {
    place_one(item);
  }
}

void LocalSearch::place_one(Item item) {
  std::vector<std::size_t> open;
  bool empty_seen = false;  // empty GPUs are all alike: one of them is enough
  for (std::size_t gpu = 0; gpu < seats_.gpus(); ++gpu) {
    const bool empty = seats_.members(gpu).empty();
    if (seats_.has_room(gpu) && !(empty && empty_seen)) {
      open.push_back(gpu);
      empty_seen = empty_seen || empty;
    }
  }
  std::optional<std::size_t> best;
  double best_gain = kForbidden;
  const auto look = [&](std::size_t count) {
    const std::vector<std::size_t> indices = sample(open.size(), count);
    std::vector<Key> keys(indices.size());
    std::ranges::transform(indices, keys.begin(), [&](std::size_t index) {
      return seats_.key_after(open[index], std::nullopt, item);
    });
    values_.require(keys);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t gpu = open[indices[i]];
      const double gain = seats_.worth(gpu, keys[i]) - seats_.worth_now(gpu);
      if (gain > best_gain) {
        best_gain = gain;
        best = gpu;
      }
    }
  };
  look(kLook);
  if (!best && open.size() > kLook) {
    look(open.size());
  }
  if (best) {
    seats_.put(item, *best);
  } else {
    seats_.put_outside(item);
  }
}

void LocalSearch::descend() {
  std::size_t quiet = 0;
  for (std::size_t round = 0; round < kMaxRounds && quiet < kQuietRounds; ++round) {
    bool changed = false;
    for (const Item item : shuffled_items()) {
      if (values_.asked() > kDescentForecasts * values_.items()) {
        return;
      }
      changed = improve(item) || changed;
    }
    quiet = changed ? 0 : quiet + 1;
  }
}

bool LocalSearch::improve(Item item) {
  const std::vector<Change> choices = changes(item);
  std::vector<Key> keys;
  for (const Change& change : choices) {
    for (const Key* key : {&change.left, &change.arrived}) {
      if (!key->empty()) {
        keys.push_back(*key);
      }
    }
  }
  values_.require(keys);
  const std::size_t from = seats_.place_of(item);
  const double worth_here = seats_.worth_now(from);
  const Change* best = nullptr;
  Gain best_gain;
  for (const Change& change : choices) {
    const double before = worth_here + seats_.worth_now(change.to);
    const double after = seats_.worth(from, change.left) + seats_.worth(change.to, change.arrived);
    const Gain gain{.placed = !change.other && !seats_.on_gpu(from) ? 1 : 0,
                    .worth = after - before};
    if (after > kForbidden && helps(gain, before) && gain > best_gain) {
      best_gain = gain;
      best = &change;
    }
  }
  if (best != nullptr) {
    apply(item, *best);
  }
  return best != nullptr;
}

std::vector<LocalSearch::Change> LocalSearch::changes(Item item) {
  std::vector<Change> choices;
  const std::size_t from = seats_.place_of(item);
  for (const std::size_t to : sample(seats_.places(), kLook)) {
    if (to == from || (!seats_.on_gpu(from) && !seats_.on_gpu(to))) {
      continue;
    }
    if (seats_.has_room(to)) {
      choices.push_back({.to = to,
                         .left = seats_.key_after(from, item, std::nullopt),
                         .arrived = seats_.key_after(to, std::nullopt, item)});
    }
    for (const Item other : seats_.members(to)) {
      choices.push_back({.to = to,
                         .other = other,
                         .left = seats_.key_after(from, item, other),
                         .arrived = seats_.key_after(to, other, item)});
    }
  }
  return choices;
}

void LocalSearch::apply(Item item, const Change& change) {
  const std::size_t from = seats_.place_of(item);
  seats_.take(item);
  if (change.other) {
    seats_.take(*change.other);
    seats_.put(*change.other, from);
  }
  seats_.put(item, change.to);
}

void LocalSearch::repack() {
  const std::size_t count = std::max<std::size_t>(2, kRepackItems / max_per_gpu_);
  if (seats_.gpus() < 2 || count * max_per_gpu_ > kMostRepackItems) {
    return;
  }
  const std::size_t patience = std::min(20 * seats_.gpus(), 1'000 + 5 * seats_.gpus());
  std::size_t quiet = 0;
  for (std::size_t step = 0; step < 8 * patience && quiet < patience; ++step) {
    if (values_.asked() > kForecasts * values_.items()) {
      return;
    }
    quiet = repack_once(count) ? 0 : quiet + 1;
  }
}

bool LocalSearch::repack_once(std::size_t count) {
  std::vector<std::size_t> chosen = sample(seats_.gpus(), count);
  const std::size_t bins = chosen.size();
  if (seats_.places() > seats_.gpus()) {
    chosen.push_back(seats_.gpus() + random_below(seats_.places() - seats_.gpus()));
  }
  std::vector<Item> items;
  Gain before;
  for (const std::size_t where : chosen) {
    const std::span<const Item> members = seats_.members(where);
    items.insert(items.end(), members.begin(), members.end());
    before.worth += seats_.worth_now(where);
    before.placed += seats_.on_gpu(where) ? static_cast<int>(members.size()) : 0;
  }
  std::vector<double> worths(std::size_t{1} << items.size(), kForbidden);
  std::vector<Key> keys;
  std::vector<ItemSet> sets;
  for (ItemSet set = 1; set < worths.size(); ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) <= max_per_gpu_) {
      keys.push_back(values_.key(items, set));
      sets.push_back(set);
    }
  }
  values_.require(keys);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    worths[sets[i]] = seats_.worth(chosen.front(), keys[i]);
  }
  const std::vector<ItemSet> groups = best_partition(items.size(), bins, worths);
  Gain difference{.placed = -before.placed, .worth = -before.worth};
  for (const ItemSet group : groups) {
    difference.placed += std::popcount(group);
    difference.worth += worths[group];
  }
  if (!helps(difference, before.worth)) {
    return false;
  }
  refill(chosen, items, groups);
  return true;
}

void LocalSearch::refill(std::span<const std::size_t> chosen,
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

void LocalSearch::raise() {
  for (std::size_t failures = 0; failures < kRaiseAttempts;) {
    const Seating before = seats_;
    if (!seats_.clear_worst()) {
      return;
    }
    // What did not work may do so with others in motion.
    for (std::size_t i = 0; i < failures; ++i) {
      seats_.clear(random_below(seats_.gpus()));
    }
    static_cast<void>(admission_.run());
    if (seats_.outside() > before.outside()) {
      seats_ = before;
      ++failures;
    } else {
      failures = 0;
    }
  }
}

}  // namespace

Grouping local_search(GroupValues& values, const LocalSearchOptions& options) {
  return LocalSearch(values, options).run();
}

}  // namespace carpool
