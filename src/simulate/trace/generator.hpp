// Generates traces that resemble Microsoft's Philly cluster: days and nights, many short jobs and a
// few very long ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/result.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

struct GeneratorSettings {
  std::size_t jobs = 1000;
  double days = 1.0;
  std::uint64_t seed = 0;
};

// Workloads, with their memory and activity, are drawn from a folder such as data/carma-traces; run
// times and arrivals from distributions (docs/simulator.md).
[[nodiscard]] Result<Trace> generate_philly(const std::filesystem::path& folder,
                                            const GeneratorSettings& settings);

}  // namespace carpool::simulate
