// Several ways to run one trace, each over several seeds or task orders.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "simulate/simulation.hpp"

namespace carpool::simulate {

// One way. Written NAME[@PRECONDITIONS][:ESTIMATOR], as in lug@aegis:none: the policy, whose
// settings it takes (its own where not said), and where memory is known from.
struct Contestant {
  std::string text{};
  std::string preconditions{};
  SimulationSettings settings{};
};

// What counts for all of them unless it is said of one.
struct ContestDefaults {
  std::optional<schedule::QueueOrder>
      order{};  // else: fair for ours, fifo for those who have nothing else
  std::optional<schedule::RecoveryRule> recovery{};  // else: the preconditions' own, else reserve
  MemorySource memory = MemorySource::Oracle;
  std::optional<double> runtime_error{};
  SimulationConstants constants{};
};

[[nodiscard]] Result<Contestant> parse_contestant(std::string_view text,
                                                  const ContestDefaults& defaults);

struct Spread {
  double mean = 0.0;
  double least = 0.0;
  double most = 0.0;
};

[[nodiscard]] Spread spread_of(const std::vector<double>& values);

struct ContestRow {
  Contestant contestant{};
  std::vector<SimulationResult> runs{};  // in the order of seeds; job lists of the first alone
  [[nodiscard]] Spread of(const std::function<double(const SimulationResult&)>& value) const;
  // Of all waits after running out of memory, in all runs.
  [[nodiscard]] std::optional<double> recovery_median_s() const;
};

struct ContestSettings {
  std::uint64_t seed = 0;
  std::size_t seeds = 1;      // runs, each with a seed of its own
  std::size_t shuffles = 0;   // above 0: each run with another order of tasks
  bool keep_moments = false;  // of the first run
};

// `told` after each run.
[[nodiscard]] Result<std::vector<ContestRow>> contest(
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& interference,
    const std::vector<Contestant>& contestants,
    const ContestSettings& settings,
    const std::function<void(const std::string&)>& told);

}  // namespace carpool::simulate
