// Results of `carpool simulate` as tables, JSON and a page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"
#include "report/report.hpp"
#include "simulate/policy_comparison.hpp"
#include "simulate/validation.hpp"

namespace carpool::app {

struct PolicyComparisonFacts {
  std::string trace{};
  std::string cluster{};
  std::string truth{};
  std::string belief{};
  std::size_t jobs = 0;
  unsigned gpus = 0;
  double memory_gib = 0.0;
  std::size_t runs = 1;
  bool shuffled = false;
};

[[nodiscard]] std::string policy_comparison_table(const std::vector<simulate::ComparisonRow>& rows,
                                                  bool colour);
[[nodiscard]] nlohmann::json policy_comparison_json(
    const PolicyComparisonFacts& facts, const std::vector<simulate::ComparisonRow>& rows);

[[nodiscard]] std::string validation_table(const std::vector<simulate::ValidationRow>& rows,
                                           bool colour);
[[nodiscard]] std::string contention_table(const std::vector<simulate::Validation>& factors,
                                           bool colour);
// The rows are those of the factor that simulations use.
[[nodiscard]] nlohmann::json validation_json(const std::vector<simulate::Validation>& factors,
                                             std::size_t seeds);

[[nodiscard]] report::Report policy_comparison_report(
    const PolicyComparisonFacts& facts,
    const simulate::Trace& trace,
    const std::vector<simulate::ComparisonRow>& rows,
    const simulate::SimulationConstants& constants);

}  // namespace carpool::app
