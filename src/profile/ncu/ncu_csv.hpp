// CSV exports of Nsight Compute: `ncu --csv --page raw` and `--page details`. ncu chooses a unit
// for each value, so units are read from the export.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "profile/kernel_table.hpp"
#include "profile/metric_names.hpp"

namespace carpool::profile {

// One profiled launch, in base units; values that the export lacks are absent.
struct NcuLaunch {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::optional<double> seconds;
  std::optional<double> sm_throughput_pct;
  std::optional<double> dram_throughput_pct;
  std::optional<double> mem_throughput_pct;
  std::optional<double> sm_active_pct;
  std::optional<double> registers_per_thread;
  std::optional<double> static_shared_bytes;  // of a block
};

// Skips lines of ncu and of the program before and within the table. Errors name file, line and
// column.
[[nodiscard]] Result<std::vector<NcuLaunch>> parse_ncu_csv(std::string_view text,
                                                           const std::string& file);

// Means over the launches, weighted by time: the kernel metrics of KACE and sm_active_pct. With a
// table of the program's kernels a launch represents all launches of its kernel (by symbol, grid
// and block).
[[nodiscard]] Metrics ncu_metrics(std::span<const NcuLaunch> launches, const KernelTable* table);

}  // namespace carpool::profile
