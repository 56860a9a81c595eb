// Options of `carpool simulate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/option_set.hpp"

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
  std::size_t jobs = 1000;
  double days = 1.0;
  std::optional<std::string> output{};
};
void add_simulate_options(OptionSet& options, SimulateOptions& simulate);

}  // namespace carpool::app
