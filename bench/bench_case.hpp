// The cases of the benchmark program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench_data.hpp"

namespace carpool {

struct BenchCase {
  std::string name;
  std::function<double()> run;             // what is timed
  std::function<nlohmann::json()> answer;  // what it computes, to compare with Python
};

// The cases of one kind; they refer to `data`, which must outlive them.
[[nodiscard]] std::vector<BenchCase> training_cases(const BenchData& data);
[[nodiscard]] std::vector<BenchCase> choice_cases(const BenchData& data);
[[nodiscard]] std::vector<BenchCase> assignment_cases(const BenchData& data);
[[nodiscard]] std::vector<BenchCase> placement_cases(const BenchData& data);
[[nodiscard]] std::vector<BenchCase> shim_cases();

}  // namespace carpool
