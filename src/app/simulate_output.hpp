// What `carpool simulate` says: tables, JSON, and a page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/output.hpp"
#include "report/report.hpp"
#include "simulate/contest.hpp"
#include "simulate/validation.hpp"

namespace carpool {

// What was simulated.
struct ContestFacts {
  std::string trace{};
  std::string cluster{};
  std::string co_run{};
  std::size_t jobs = 0;
  unsigned gpus = 0;
  double memory_gib = 0.0;
  std::size_t runs = 1;
  bool shuffled = false;
};

[[nodiscard]] std::string contest_table(const std::vector<ContestRow>& rows, bool colour);
[[nodiscard]] nlohmann::json contest_json(const ContestFacts& facts,
                                          const std::vector<ContestRow>& rows);

[[nodiscard]] std::string validation_table(const std::vector<ValidationRow>& rows, bool colour);
[[nodiscard]] nlohmann::json validation_json(const std::vector<ValidationRow>& rows,
                                             std::size_t seeds);

[[nodiscard]] Report contest_report(const ContestFacts& facts,
                                    const Trace& trace,
                                    const std::vector<ContestRow>& rows,
                                    const Physics& physics);

}  // namespace carpool
