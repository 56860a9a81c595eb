// Improves a seating item by item: one moves, or swaps with another, while that helps. Internal to
// place/.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "assign/arrangement.hpp"

namespace carpool::assign {

class Descent {
 public:
  Descent(GroupValues& values, Seating& seats, std::mt19937_64& engine)
      : values_(values), seats_(seats), engine_(engine) {}

  // Until nothing helps any more among the places looked at, or enough forecasts were asked for.
  void run();

 private:
  using Key = Seating::Key;

  // `item` goes to `to`; with `other`, that comes back in exchange.
  struct Change {
    std::size_t to = 0;
    std::optional<Item> other = std::nullopt;
    Key left = {};     // what stays on the item's place
    Key arrived = {};  // what is on `to` then
  };

  [[nodiscard]] bool improve(Item item);
  [[nodiscard]] std::vector<Change> changes(Item item);
  void apply(Item item, const Change& change);

  GroupValues& values_;
  Seating& seats_;
  std::mt19937_64& engine_;
};

}  // namespace carpool::assign
