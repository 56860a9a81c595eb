// Runs Nsight Compute on a program: one launch of each distinct kernel, with its counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "profile/kernel_table.hpp"
#include "profile/ncu/ncu_csv.hpp"

namespace carpool::profile {

struct NcuRequest {
  std::filesystem::path program = "ncu";
  std::vector<std::string> command{};  // to profile
  std::filesystem::path folder{};      // for the files of ncu
  // Symbols of the kernels to profile; empty: all.
  std::vector<std::string> symbols{};
  // Launches of each distinct kernel to skip first, while caches and clocks warm up.
  std::size_t skip = 2;
};

// The command line: one launch of each (kernel, grid, block, shared memory), without flushing
// caches or fixing clocks, as in a normal run.
[[nodiscard]] std::vector<std::string> ncu_command(const NcuRequest& request);
// The command line that turns the report into a table. ncu shows progress only if it does not print
// a table.
[[nodiscard]] std::vector<std::string> ncu_import_command(const NcuRequest& request);

// The symbols of the longest-running kernels that together take at least this share of the kernel
// time.
[[nodiscard]] std::vector<std::string> symbols_of(const KernelTable& table, double share);

struct NcuLimits {
  std::chrono::milliseconds longest{300'000};
  // After this time without a new kernel no more are expected.
  std::chrono::milliseconds quiet{20'000};
  std::size_t kernels = 0;  // that suffice; 0: unknown
  std::function<bool()> stop{};
  std::function<void(std::size_t)> profiled{};  // number so far
};

// Runs until each kernel was profiled or a limit is reached, then ends the program. `environment`
// is added to the caller's. Unsupported, with ncu's message, if ncu is missing or fails.
[[nodiscard]] Result<std::vector<NcuLaunch>> run_ncu(
    const NcuRequest& request,
    const std::map<std::string, std::string>& environment,
    const NcuLimits& limits);

}  // namespace carpool::profile
