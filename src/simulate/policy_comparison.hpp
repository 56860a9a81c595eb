// One trace under several policies, each over several seeds or job orders.
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

// Written NAME[@PRECONDITIONS][:ESTIMATOR], as in lug@aegis:none: the policy, the policy whose
// settings it takes (default: its own), and the source of memory needs.
struct ComparedPolicy {
  std::string text{};
  std::string preconditions{};
  SimulationSettings settings{};
};

// For policies that do not state it themselves.
struct ComparisonDefaults {
  // Empty: fifo for exclusive and for policies published with a strict queue, fair for others.
  std::optional<schedule::QueueOrder> order{};
  std::optional<schedule::RecoveryRule> recovery{};  // empty: that of the preconditions, or reserve
  MemorySource memory = MemorySource::Oracle;
  std::optional<double> runtime_error{};
  SimulationConstants constants{};
};

[[nodiscard]] Result<ComparedPolicy> parse_compared_policy(std::string_view text,
                                                           const ComparisonDefaults& defaults);

struct Spread {
  double mean = 0.0;
  double least = 0.0;
  double most = 0.0;
};

[[nodiscard]] Spread spread_of(const std::vector<double>& values);

struct ComparisonRow {
  ComparedPolicy policy{};
  std::vector<SimulationResult>
      runs{};  // in the order of seeds; only the first keeps its lists of jobs and runs
  [[nodiscard]] Spread of(const std::function<double(const SimulationResult&)>& value) const;
  // Of the waits after out-of-memory failures, in all runs.
  [[nodiscard]] std::optional<double> recovery_median_s() const;
};

struct ComparisonSettings {
  std::uint64_t seed = 0;
  std::size_t seeds = 1;      // runs, each with its own seed
  std::size_t shuffles = 0;   // above 0: runs, each with another order of jobs
  bool keep_moments = false;  // of the first run
};

// Calls `progress` after each run.
[[nodiscard]] Result<std::vector<ComparisonRow>> compare_policies(
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& interference,
    const std::vector<ComparedPolicy>& policies,
    const ComparisonSettings& settings,
    const std::function<void(const std::string&)>& progress);

}  // namespace carpool::simulate
