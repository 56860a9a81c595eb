// Gets items that are outside onto a GPU by moving others on.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "assign/arrangement.hpp"

namespace carpool::assign {

// An item outside takes the seat of another, that one the seat of a third, … and the last finds a
// free seat. Nothing that is not allowed ever stands, and no item leaves the GPUs.
class Admission {
 public:
  // Gives up where `forecasts` have been asked of the values, or when as many as `checks` groups
  // have been looked at in all calls: what bounds the time where many items must stay outside.
  struct Limits {
    std::size_t forecasts = 0;
    std::size_t checks = 0;
  };

  Admission(GroupValues& values, Seating& seats, std::mt19937_64& engine, const Limits& limits)
      : values_(values), seats_(seats), engine_(engine), limits_(limits) {}

  // Whether anybody got in.
  [[nodiscard]] bool run();

 private:
  // An item that lost its seat on `gpu` to the one reached at `by`; the first is from outside.
  struct Displaced {
    Item item = 0;
    std::size_t gpu = 0;
    std::size_t by = 0;
  };
  using Reached = std::vector<Displaced>;

  [[nodiscard]] bool admit(Item item);
  [[nodiscard]] bool extend(std::size_t gpu, std::size_t next);
  [[nodiscard]] bool on_chain(std::size_t last, std::size_t gpu) const;
  void seat_chain(std::size_t last, std::size_t to);
  [[nodiscard]] bool possible(std::size_t gpu, const Seating::Key& key);
  [[nodiscard]] bool exhausted() const {
    return values_.asked() > limits_.forecasts || checks_ > limits_.checks;
  }

  GroupValues& values_;
  Seating& seats_;
  std::mt19937_64& engine_;
  Limits limits_;
  std::size_t checks_ = 0;
  Reached reached_;         // of the item that is being admitted
  std::vector<bool> seen_;  // items among them
};

}  // namespace carpool::assign
