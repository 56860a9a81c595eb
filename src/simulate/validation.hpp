// Compares the simulator with what AEGIS measured on real GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulate/policy_comparison.hpp"

namespace carpool::simulate {

struct ValidationRow {
  std::string policy{};     // as published
  std::string estimator{};  // as published
  double allowed = 0.0;     // relative difference
  bool fitted = false;      // a constant of the simulator was fitted to this row
  double published_makespan_s = 0.0;
  double published_jct_s = 0.0;
  double published_p95_s = 0.0;
  double published_execution_s = 0.0;
  double published_out_of_memory = 0.0;
  std::optional<double> published_energy_mj{};
  Spread makespan_s{};
  Spread jct_s{};
  Spread p95_s{};
  Spread execution_s{};
  Spread out_of_memory{};
  Spread energy_mj{};
  std::optional<double> recovery_s{};  // median; no published value

  [[nodiscard]] double makespan_difference() const {
    return makespan_s.mean / published_makespan_s - 1.0;
  }
  [[nodiscard]] double jct_difference() const { return jct_s.mean / published_jct_s - 1.0; }
  [[nodiscard]] double p95_difference() const { return p95_s.mean / published_p95_s - 1.0; }
  [[nodiscard]] bool met() const;
};

// With one contention factor.
struct Validation {
  double contention = 0.0;
  std::vector<ValidationRow> rows{};
  // Makespan of MAGM with GPUMemNet over exclusive: CARMA's trace of 60 jobs on four A100-40.
  double carma_ratio = 0.0;
};
inline constexpr double kPublishedCarmaRatio = 0.702;

// AEGIS's Philly trace on three A100: exclusive, round robin, LUG, and MAGM with each estimator;
// and CARMA's trace of 60 jobs. `folder` is as data/carma-traces.
[[nodiscard]] Result<Validation> validate_aegis(
    const std::filesystem::path& folder,
    double contention,
    std::uint64_t seed,
    std::size_t seeds,
    const std::function<void(const std::string&)>& progress);
// Runs of validate_aegis() for each seed.
inline constexpr std::size_t kValidationRuns = 10;

}  // namespace carpool::simulate
