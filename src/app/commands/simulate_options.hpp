// Options of `carpool simulate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/option_set.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct SimulateOptions {
  std::string trace{};
  std::string cluster = "4xA100-40";
  std::vector<std::string> policies = {"exclusive", "magm:told", "carpool"};
  std::optional<std::string> order{};
  std::optional<std::string> recovery{};
  std::string estimator = "none";
  std::string belief = "learned";
  std::string truth = "pairs";
  double rates = 1.0;
  std::optional<double> runtime_error{};
  std::size_t shuffle = 0;
  std::uint64_t seed = 1;
  std::size_t seeds = 1;
  std::optional<std::string> data{};
  std::optional<std::string> report{};
  std::optional<std::string> per_job{};
  std::optional<std::string> validate{};
  std::optional<std::string> generate{};
  std::optional<std::size_t> jobs{};
  std::optional<double> days{};
  std::optional<std::string> output{};
};
void add_simulate_options(OptionSet& options, SimulateOptions& simulate);
// What is given is used: a file that is not written, or a trace that is not read, is a mistake.
[[nodiscard]] Result<void> check_simulate_options(const SimulateOptions& options);

}  // namespace carpool::app
