// Improves an arrangement member by member: one moves, or swaps with another, while that helps.
// Internal to assign/.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "assign/arrangement.hpp"

namespace carpool::assign {

class Descent {
 public:
  Descent(GroupValues& values, Arrangement& arrangement, std::mt19937_64& engine)
      : values_(values), arrangement_(arrangement), engine_(engine) {}

  // Runs until no examined change helps, or the limit of forecasts is reached.
  void run();

 private:
  using Key = Arrangement::Key;

  // The member goes to `to`; `other`, if set, comes back in exchange.
  struct Change {
    std::size_t to = 0;
    std::optional<Member> other = std::nullopt;
    Key left = {};     // the kinds that remain where the member was
    Key arrived = {};  // the kinds on `to` afterwards
  };

  [[nodiscard]] bool improve(Member member);
  [[nodiscard]] std::vector<Change> changes(Member member);
  void apply(Member member, const Change& change);

  GroupValues& values_;
  Arrangement& arrangement_;
  std::mt19937_64& engine_;
};

}  // namespace carpool::assign
