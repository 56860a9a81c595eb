// The cells (single measurements) of a plan, and the order in which to run them.
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

// One member of a group: a workload and its limits. `copy` numbers otherwise equal members. Limits
// are fixed when a process starts, so each member needs its own worker.
struct Member {
  std::size_t workload = 0;
  Mechanism mechanism = Mechanism::Mps;
  double thread_percentage = 100.0;
  bool low_priority = false;
  std::size_t copy = 0;

  auto operator<=>(const Member&) const = default;
};

// One window, in which these members run together.
struct Cell {
  std::string table;  // empty: only cells.csv
  Mechanism mechanism = Mechanism::Mps;
  std::vector<Member> members;
  std::size_t repeat = 0;

  [[nodiscard]] bool solo() const { return members.size() == 1; }
};

// Identifies a cell in the journal, across restarts and changes of the plan's order:
// "pairs mps bert@25+gpt@75!low #0".
[[nodiscard]] std::string key_of(const Cell& cell, const Plan& plan);

// All cells in the order of the plan, solo runs first. Keys are unique.
[[nodiscard]] std::vector<Cell> expand(const Plan& plan);

// Known GPU memory of the workers, and the memory that all of them may hold. A worker that does not
// fit ends others, which are slow to start again.
struct WorkerMemory {
  std::map<std::size_t, std::uint64_t> of_workload{};  // bytes; unknown workloads count as 0
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
};

// Cells that can be measured with the same workers resident.
struct Batch {
  std::vector<Member> members;
  std::vector<Cell> cells;
};

// Batches of at most plan.workers.resident members that fit into memory, one mechanism each (a
// group that does not fit gets its own batch). The order inside a batch is drawn by the plan's
// seed; the repeats of a solo run are spread over the batch so that drift shows.
[[nodiscard]] std::vector<Batch> into_batches(std::span<const Cell> cells,
                                              const Plan& plan,
                                              const WorkerMemory& memory = {});

}  // namespace carpool::measure
