// Exports of Nsight Compute: `ncu --csv --page raw` and `--page details`, of a run or of a report.
// Units are read, not assumed: ncu chooses one for every value.
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

// One profiled launch, in base units; what the export does not have is absent.
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

// Lines of ncu and of the program before and between the table are passed over. Errors name file,
// line and column.
[[nodiscard]] Result<std::vector<NcuLaunch>> parse_ncu_csv(std::string_view text,
                                                           const std::string& file);

// Means over the launches, weighted by time: the kernel metrics of KACE, from base units and whole
// steps, and sm_active_pct. Each launch stands for itself; where a table of the program's kernels
// is given, for all launches of its kernel (by symbol, grid and block).
[[nodiscard]] Metrics ncu_metrics(std::span<const NcuLaunch> launches, const KernelTable* table);

}  // namespace carpool::profile
