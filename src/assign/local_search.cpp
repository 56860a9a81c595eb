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

// GPUs examined for the first place of a member; all of them when none of these is possible.
constexpr std::size_t kFirstLook = 32;
// Failures in a row that end the raising of a bottleneck.
constexpr std::size_t kRaiseAttempts = 8;
// Forecasts per member after which the whole search ends: one or two seconds for a thousand
// members.
constexpr std::size_t kForecasts = 700;
// Groups examined per member, over all ejection chains.
constexpr std::size_t kChainChecks = 3'000;

// One search, in five phases:
// 1. place(): each member goes where it adds most, the largest in memory first;
// 2. descent: a member moves, or swaps with another, while that helps;
// 3. ejection chains place members that are left over, followed by another descent;
// 4. repacking: a few random GPUs are emptied and filled again in the best possible way;
// 5. for a bottleneck, raise(): the worst group is dissolved and its members are placed elsewhere,
//    only in groups that are better, while that succeeds.
class LocalSearch {
 public:
  LocalSearch(GroupValues& values, const LocalSearchOptions& options)
      : values_(values),
        bottleneck_(options.bottleneck),
        engine_(options.seed),
        arrangement_(values,
                     {.gpus = std::min(options.gpus, values.workloads()),
                      .max_per_gpu = options.max_per_gpu,
                      .bottleneck = options.bottleneck}),
        descent_(values, arrangement_, engine_),
        ejection_chain_(values,
                        arrangement_,
                        engine_,
                        {.forecasts = kForecasts * values.workloads(),
                         .checks = kChainChecks * values.workloads()}),
        repacking_(
            values,
            arrangement_,
            engine_,
            {.max_per_gpu = options.max_per_gpu, .forecasts = kForecasts * values.workloads()}) {}

  [[nodiscard]] Grouping run() {
    place();
    descent_.run();
    if (ejection_chain_.run()) {
      descent_.run();
    }
    repacking_.run();
    if (bottleneck_) {
      raise();
    }
    return arrangement_.groups();
  }

 private:
  void place();
  void place_one(Member member);
  void raise();

  GroupValues& values_;
  bool bottleneck_;
  std::mt19937_64 engine_;
  Arrangement arrangement_;
  Descent descent_;
  EjectionChain ejection_chain_;
  Repacking repacking_;
};

void LocalSearch::place() {
  std::vector<Member> order(values_.workloads());
  std::iota(order.begin(), order.end(), Member{0});
  std::ranges::sort(
      order, {}, [this](Member member) { return std::pair(-values_.memory_gib(member), member); });
  for (const Member member : order) {
    place_one(member);
  }
}

void LocalSearch::place_one(Member member) {
  std::vector<std::size_t> open;
  bool empty_seen = false;  // empty GPUs are alike: one of them is enough
  for (std::size_t gpu = 0; gpu < arrangement_.gpus(); ++gpu) {
    const bool empty = arrangement_.members(gpu).empty();
    if (arrangement_.has_room(gpu) && !(empty && empty_seen)) {
      open.push_back(gpu);
      empty_seen = empty_seen || empty;
    }
  }
  std::optional<std::size_t> best;
  double best_gain = kForbidden;
  const auto look = [&](std::size_t count) {
    const std::vector<std::size_t> indices = random_sample(engine_, open.size(), count);
    std::vector<Arrangement::Key> keys(indices.size());
    std::ranges::transform(indices, keys.begin(), [&](std::size_t index) {
      return arrangement_.key_after(open[index], std::nullopt, member);
    });
    values_.require(keys);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t gpu = open[indices[i]];
      const double gain = arrangement_.worth(gpu, keys[i]) - arrangement_.worth_now(gpu);
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
    arrangement_.put(member, *best);
  } else {
    arrangement_.put_outside(member);
  }
}

void LocalSearch::raise() {
  for (std::size_t failures = 0; failures < kRaiseAttempts;) {
    const Arrangement before = arrangement_;
    if (!arrangement_.clear_worst()) {
      return;
    }
    // An attempt that failed may succeed when further GPUs are emptied.
    for (std::size_t i = 0; i < failures; ++i) {
      arrangement_.clear(random_below(engine_, arrangement_.gpus()));
    }
    static_cast<void>(ejection_chain_.run());
    if (arrangement_.outside() > before.outside()) {
      arrangement_ = before;
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
