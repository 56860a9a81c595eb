#include "assign/subset_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace carpool::assign {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Of the largest sets that can be placed, the one with the highest worth.
MemberSet most_placed(std::span<const double> best) {
  MemberSet placed = 0;
  for (MemberSet set = 1; set < best.size(); ++set) {
    const int more = std::popcount(set) - std::popcount(placed);
    if (best[set] > kImpossible && (more > 0 || (more == 0 && best[set] > best[placed]))) {
      placed = set;
    }
  }
  return placed;
}

}  // namespace

// best[g][set]: highest sum with exactly `set` placed in at most g groups. The group that holds the
// lowest member of `set` is tried as every subset of the rest, which counts each grouping once:
//   best[g][set] = max(best[g-1][set], max over group of values[group] + best[g-1][set - group])
std::vector<MemberSet> best_grouping(std::size_t members,
                                     std::size_t max_groups,
                                     std::span<const double> values) {
  const std::size_t sets = std::size_t{1} << members;
  max_groups = std::min(max_groups, members);
  std::vector<double> best((max_groups + 1) * sets, kImpossible);
  std::vector<MemberSet> last_group((max_groups + 1) * sets, 0);
  best[0] = 0.0;
  for (std::size_t count = 1; count <= max_groups; ++count) {
    const double* fewer = &best[(count - 1) * sets];
    double* now = &best[count * sets];
    MemberSet* chosen = &last_group[count * sets];
    now[0] = 0.0;
    for (MemberSet set = 1; set < sets; ++set) {
      now[set] = fewer[set];
      const MemberSet lowest = set & (~set + 1);
      const MemberSet rest = set ^ lowest;
      for (MemberSet others = rest;; others = (others - 1) & rest) {
        const MemberSet group = others | lowest;
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
  MemberSet placed = most_placed(std::span(best).last(sets));
  std::vector<MemberSet> groups;
  for (std::size_t count = max_groups; count > 0; --count) {
    if (const MemberSet group = last_group[count * sets + placed]; group != 0) {
      groups.push_back(group);
      placed ^= group;
    }
  }
  return groups;
}

}  // namespace carpool::assign
