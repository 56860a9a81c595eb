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

// Written NAME[@PRECONDITIONS][:ESTIMATOR][/ORDER], as in lug@aegis:none or exclusive/fifo: the
// policy, the policy whose settings it takes (default: its own), the source of memory needs, and
// the order of the queue.
struct ComparedPolicy {
  std::string text{};
  std::string preconditions{};
  SimulationSettings settings{};
};

// For policies that do not state it themselves: the same for all.
struct ComparisonDefaults {
  // Empty: fifo for policies published with a strict queue, fair for others.
  std::optional<schedule::QueueOrder> order{};
  std::optional<schedule::RecoveryRule> recovery{};  // empty: that of the preconditions, or reserve
  MemorySource memory = MemorySource::None;
  BeliefKind belief = BeliefKind::Learned;
  double rates = 1.0;
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
      runs{};  // only the first keeps its attempts; and its jobs, unless all keep them
  // Over the runs that have the figure; empty if none has.
  [[nodiscard]] std::optional<Spread> of(
      const std::function<std::optional<double>(const SimulationResult&)>& value) const;
  // Of the waits after attempts that ran out of memory or reached their cap, in all runs.
  [[nodiscard]] std::optional<double> recovery_median_s() const;
};

struct ComparisonSettings {
  std::uint64_t seed = 0;
  std::size_t seeds = 1;      // runs of each order, each with its own seed
  std::size_t shuffles = 0;   // orders of the jobs; 0: that of the trace
  bool keep_moments = false;  // of the first run
  bool keep_jobs = false;     // of every run
  // From time to time in each run, and at its end: the run, and how many more jobs it is done with.
  std::function<void(const std::string&, std::size_t)> on_jobs{};

  [[nodiscard]] std::size_t orders() const { return shuffles > 0 ? shuffles : 1; }
  [[nodiscard]] std::size_t runs() const { return orders() * seeds; }
  // Of a run, and of the order of its jobs.
  [[nodiscard]] std::uint64_t seed_of(std::size_t run) const { return seed + run; }
  [[nodiscard]] std::uint64_t order_of(std::size_t run) const { return seed + run % orders(); }
};

// Calls `progress` after each run.
[[nodiscard]] Result<std::vector<ComparisonRow>> compare_policies(
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& truth,
    const std::vector<ComparedPolicy>& policies,
    const ComparisonSettings& settings,
    const std::function<void(const std::string&)>& progress);

// A table of every job in every run; needs keep_jobs.
[[nodiscard]] std::string job_outcomes_csv(const std::vector<ComparisonRow>& rows,
                                           const ComparisonSettings& settings);

}  // namespace carpool::simulate
