#include "assign/random_choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace carpool::assign {

std::vector<std::size_t> random_sample(std::mt19937_64& engine,
                                       std::size_t from,
                                       std::size_t count) {
  std::vector<std::size_t> chosen;
  if (from <= count) {
    chosen.resize(from);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    return chosen;
  }
  while (chosen.size() < count) {
    const std::size_t next = random_below(engine, from);
    if (std::ranges::find(chosen, next) == chosen.end()) {
      chosen.push_back(next);
    }
  }
  return chosen;
}

std::vector<Member> shuffled_members(std::mt19937_64& engine, std::size_t count) {
  std::vector<Member> order(count);
  std::iota(order.begin(), order.end(), Member{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random_below(engine, i)]);
  }
  return order;
}

}  // namespace carpool::assign
