// The single measurements that a plan asks for, and an order for them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/plan.hpp"

namespace carpool::measure {

// One member's place: which workload, under which limits. Members that are equal in all of that are
// told apart by `copy`. Limits are fixed when a process starts, so a seat is what a worker is for.
struct Seat {
  std::size_t workload = 0;
  Mechanism mechanism = Mechanism::Mps;
  double thread_percentage = 100.0;
  bool low_priority = false;
  std::size_t copy = 0;

  auto operator<=>(const Seat&) const = default;
};

// One window: these seats run together.
struct Cell {
  std::string table;  // empty: cells.csv alone
  Mechanism mechanism = Mechanism::Mps;
  std::vector<Seat> seats;
  std::size_t repeat = 0;

  [[nodiscard]] bool alone() const { return seats.size() == 1; }
};

// What a journal knows a cell by, over restarts and changes of the plan's order:
// "pairs mps bert@25+gpt@75!low #0".
[[nodiscard]] std::string key_of(const Cell& cell, const Plan& plan);

// All cells in the order of the plan, runs alone first; no two have the same key.
[[nodiscard]] std::vector<Cell> expand(const Plan& plan);

// GPU memory that a worker of a workload holds, as far as it is known, and what there is for all. A
// worker that finds no room makes others end, and those take their time to start again.
struct WorkerMemory {
  std::map<std::size_t, std::uint64_t> of_workload{};  // bytes; not listed: counts as nothing
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
};

// Cells that can be measured with the same workers resident.
struct Batch {
  std::vector<Seat> seats;
  std::vector<Cell> cells;
};

// Batches of at most plan.workers.resident seats that fit into the memory, one mechanism each (a
// group that does not fit has a batch of its own). Inside a batch the order is drawn by the plan's
// seed, and the repeats of a run alone are spread over its length so that drift shows.
[[nodiscard]] std::vector<Batch> into_batches(std::span<const Cell> cells,
                                              const Plan& plan,
                                              const WorkerMemory& memory = {});

}  // namespace carpool::measure
