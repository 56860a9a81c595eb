// Every distinct kernel of a recording: how often, how long, how large.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "profile/occupancy.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

struct KernelRow {
  std::string name{};    // as people write it
  std::string symbol{};  // as the compiler mangled it
  gpu::activity_format::Kernel facts{};
  std::uint64_t count = 0;
  double seconds = 0.0;  // of all its launches
  double share = 0.0;    // of the time of all kernels
  KernelOccupancy occupancy{};
};

struct KernelTable {
  std::vector<KernelRow> rows;  // the one that takes most time first
  double seconds = 0.0;         // of all kernels
  std::uint64_t launches = 0;
  std::uint64_t graph_launches = 0;
};

// Launches of all processes that started in the window; the same kernel in two of them is one row.
[[nodiscard]] KernelTable kernel_table(std::span<const gpu::ActivityTrace> traces,
                                       const TimeWindow& window);

// As comma-separated values with a header; units are in the names.
[[nodiscard]] std::string kernel_csv(const KernelTable& table);

}  // namespace carpool::profile
