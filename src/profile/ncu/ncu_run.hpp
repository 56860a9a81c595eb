// Nsight Compute on a program: one launch of every distinct kernel, with its counters.
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
  std::filesystem::path folder{};      // for what ncu writes
  // Symbols of the kernels that are wanted; empty: all.
  std::vector<std::string> symbols{};
  // Launches of each distinct kernel that are let pass first: caches and clocks warm up.
  std::size_t skip = 2;
};

// The words of the command: one launch of each (kernel, grid, block, shared memory), neither caches
// flushed nor clocks fixed, so that what is seen is what a run has.
[[nodiscard]] std::vector<std::string> ncu_command(const NcuRequest& request);
// What turns its report into a table. Only a run that prints no table tells of its progress.
[[nodiscard]] std::vector<std::string> ncu_import_command(const NcuRequest& request);

// The symbols of a table whose kernels take at least that share of the GPU's time together, the
// longest-running first.
[[nodiscard]] std::vector<std::string> symbols_of(const KernelTable& table, double share);

struct NcuLimits {
  std::chrono::milliseconds longest{300'000};
  // Without a new kernel for so long, after the first, the rest is not to come.
  std::chrono::milliseconds quiet{20'000};
  std::size_t kernels = 0;  // enough; 0: not known
  std::function<bool()> stop{};
  std::function<void(std::size_t)> profiled{};  // so many so far
};

// Runs it until every kernel was seen or a limit is reached, then ends the program. `environment`
// is added to ours. Unsupported, with ncu's words, when ncu is missing or refuses.
[[nodiscard]] Result<std::vector<NcuLaunch>> run_ncu(
    const NcuRequest& request,
    const std::map<std::string, std::string>& environment,
    const NcuLimits& limits);

}  // namespace carpool::profile
