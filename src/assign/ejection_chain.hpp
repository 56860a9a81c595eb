// Gets members that are outside onto a GPU by moving others. Internal to assign/.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "assign/arrangement.hpp"

namespace carpool::assign {

// A member outside takes the place of another, that one the place of a third, … and the last finds
// room. All groups stay allowed, and no member leaves the GPUs.
class EjectionChain {
 public:
  // The search ends after `forecasts` of the values, or `checks` groups examined in all calls,
  // which bounds the time where many members must stay outside.
  struct Limits {
    std::size_t forecasts = 0;
    std::size_t checks = 0;
  };

  EjectionChain(GroupValues& values,
                Arrangement& arrangement,
                std::mt19937_64& engine,
                const Limits& limits)
      : values_(values), arrangement_(arrangement), engine_(engine), limits_(limits) {}

  // Whether a member got onto a GPU.
  [[nodiscard]] bool run();

 private:
  // A member that lost its place on `gpu` to the one reached at `by`; the first is from outside.
  struct Displaced {
    Member member = 0;
    std::size_t gpu = 0;
    std::size_t by = 0;
  };
  using Reached = std::vector<Displaced>;

  [[nodiscard]] bool admit(Member member);
  [[nodiscard]] bool extend(std::size_t gpu, std::size_t next);
  [[nodiscard]] bool on_chain(std::size_t last, std::size_t gpu) const;
  void apply_chain(std::size_t last, std::size_t to);
  [[nodiscard]] bool possible(std::size_t gpu, const Arrangement::Key& key);
  [[nodiscard]] bool exhausted() const {
    return values_.asked() > limits_.forecasts || checks_ > limits_.checks;
  }

  GroupValues& values_;
  Arrangement& arrangement_;
  std::mt19937_64& engine_;
  Limits limits_;
  std::size_t checks_ = 0;
  Reached reached_;         // from the member that is being placed
  std::vector<bool> seen_;  // members in reached_
};

}  // namespace carpool::assign
