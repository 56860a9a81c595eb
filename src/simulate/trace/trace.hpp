// Traces: jobs with their times, recorded or generated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::simulate {

inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

struct TraceJob {
  std::string workload{};
  double submit_s = 0.0;
  unsigned gpus = 1;
  double solo_s = 0.0;            // run time without other jobs on its GPUs
  std::uint64_t peak_bytes = 0;   // on each GPU
  std::uint64_t early_bytes = 0;  // peak of the first minutes; else equal to peak_bytes
  // Solo, 0 to 1.
  double sm_active = 0.0;
  double sm_occupancy = 0.0;
  double dram_active = 0.0;
  // Published memory estimates.
  std::optional<std::uint64_t> horus_bytes{};
  std::optional<std::uint64_t> faketensor_bytes{};
  std::optional<std::uint64_t> gpumemnet_bytes{};
  std::uint32_t uid = 1000;
};

struct Trace {
  std::string name{};
  std::vector<TraceJob> jobs{};  // by submit_s
};

// CARMA's traces, AEGIS's, and any other table with `submit_s`, `workload` or `task`, `solo_s` or
// `exec_min_best`, and `peak_mem_mib` or `gpu_mem_mib`; docs/simulator.md has the columns. Errors
// name file and line.
[[nodiscard]] Result<Trace> read_trace(const std::filesystem::path& path);
// Parses a text that errors call `file`.
[[nodiscard]] Result<Trace> parse_trace(std::string_view text, const std::string& file);

// By submit_s; stable.
void sort_by_submission(Trace& trace);

// In the format of read_trace.
[[nodiscard]] std::string trace_csv(const Trace& trace);

// The same submission times with the jobs in another order.
[[nodiscard]] Trace shuffled(const Trace& trace, std::uint64_t seed);

}  // namespace carpool::simulate
