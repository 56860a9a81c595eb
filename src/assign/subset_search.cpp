#include "assign/subset_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace carpool::assign {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// The largest set that can be placed at all, and of these the one worth most.
ItemSet most_placed(std::span<const double> best) {
  ItemSet placed = 0;
  for (ItemSet set = 1; set < best.size(); ++set) {
    const int more = std::popcount(set) - std::popcount(placed);
    if (best[set] > kImpossible && (more > 0 || (more == 0 && best[set] > best[placed]))) {
      placed = set;
    }
  }
  return placed;
}

}  // namespace

// best[g][set]: highest sum with exactly `set` placed in at most g groups. The group that holds the
// lowest item of `set` is tried as every subset of the rest, which counts each partition once:
//   best[g][set] = max(best[g-1][set], max over group of values[group] + best[g-1][set - group])
std::vector<ItemSet> best_partition(std::size_t items,
                                    std::size_t bins,
                                    std::span<const double> values) {
  const std::size_t sets = std::size_t{1} << items;
  bins = std::min(bins, items);
  std::vector<double> best((bins + 1) * sets, kImpossible);
  std::vector<ItemSet> last_group((bins + 1) * sets, 0);
  best[0] = 0.0;
  for (std::size_t bin = 1; bin <= bins; ++bin) {
    const double* fewer = &best[(bin - 1) * sets];
    double* now = &best[bin * sets];
    ItemSet* chosen = &last_group[bin * sets];
    now[0] = 0.0;
    for (ItemSet set = 1; set < sets; ++set) {
      now[set] = fewer[set];
      const ItemSet lowest = set & (~set + 1);
      const ItemSet rest = set ^ lowest;
      for (ItemSet others = rest;; others = (others - 1) & rest) {
        const ItemSet group = others | lowest;
        const double value = values[group] + fewer[set ^ group];
        if (value > now[set]) {
          now[set] = value;
          chosen[set] = group;
        }
        if (others == 0) {
          break;
        }
      }
    }
  }
  ItemSet placed = most_placed(std::span(best).last(sets));
  std::vector<ItemSet> groups;
  for (std::size_t bin = bins; bin > 0; --bin) {
    if (const ItemSet group = last_group[bin * sets + placed]; group != 0) {
      groups.push_back(group);
      placed ^= group;
    }
  }
  return groups;
}

}  // namespace carpool::assign
