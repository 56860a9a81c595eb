#include "assign/local_search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "assign/arrangement.hpp"
#include "assign/descent.hpp"
#include "assign/ejection_chain.hpp"
#include "assign/random_choice.hpp"
#include "assign/repacking.hpp"

namespace carpool::assign {
namespace {

// GPUs that an item looks at for its first place; all of them when none of these will do.
constexpr std::size_t kFirstLook = 32;
// Failures in a row that end the raising of a bottleneck.
constexpr std::size_t kRaiseAttempts = 8;
// Forecasts an item after which the whole search comes to its end: a second or two for a thousand
// items.
constexpr std::size_t kForecasts = 700;
// Groups an item that are looked at in all to admit those left over.
constexpr std::size_t kAdmissionChecks = 3'000;

// One search, in five phases:
// 1. place(): each item where it adds most, the largest in memory first;
// 2. the descent: an item moves, or swaps with another, while that helps;
// 3. those left over are admitted if others can move on, and then the descent again;
// 4. the repacking: a few GPUs at random are emptied and filled again in the best way there is;
// 5. for a bottleneck raise(): the worst group is dissolved and its members admitted elsewhere,
//    with nothing as bad allowed, for as long as that works.
class LocalSearch {
 public:
  LocalSearch(GroupValues& values, const LocalSearchOptions& options)
      : values_(values),
        bottleneck_(options.bottleneck),
        engine_(options.seed),
        seats_(values,
               {.gpus = std::min(options.gpus, values.items()),
                .max_per_gpu = options.max_per_gpu,
                .bottleneck = options.bottleneck}),
        descent_(values, seats_, engine_),
        admission_(values,
                   seats_,
                   engine_,
                   {.forecasts = kForecasts * values.items(),
                    .checks = kAdmissionChecks * values.items()}),
        repacking_(values,
                   seats_,
                   engine_,
                   {.max_per_gpu = options.max_per_gpu, .forecasts = kForecasts * values.items()}) {
  }

  [[nodiscard]] Grouping run() {
    place();
    descent_.run();
    if (admission_.run()) {
      descent_.run();
    }
    repacking_.run();
    if (bottleneck_) {
      raise();
    }
    return seats_.groups();
  }

 private:
  void place();
  void place_one(Item item);
  void raise();

  GroupValues& values_;
  bool bottleneck_;
  std::mt19937_64 engine_;
  Seating seats_;
  Descent descent_;
  Admission admission_;
  Repacking repacking_;
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
    const std::vector<std::size_t> indices = random_sample(engine_, open.size(), count);
    std::vector<Seating::Key> keys(indices.size());
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
  look(kFirstLook);
  if (!best && open.size() > kFirstLook) {
    look(open.size());
  }
  if (best) {
    seats_.put(item, *best);
  } else {
    seats_.put_outside(item);
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
      seats_.clear(random_below(engine_, seats_.gpus()));
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

}  // namespace carpool::assign
