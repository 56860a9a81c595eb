// The distinct kernels of a recording, with launch count, time and size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "gpu/cupti/kernel_occupancy.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

struct KernelRow {
  std::string name{};    // demangled
  std::string symbol{};  // mangled
  gpu::activity_format::Kernel facts{};
  std::uint64_t count = 0;
  double seconds = 0.0;  // of all its launches
  double share = 0.0;    // of the total kernel time
  gpu::KernelOccupancy occupancy{};
};

struct KernelTable {
  std::vector<KernelRow> rows;  // sorted by time, longest first
  double seconds = 0.0;         // of all kernels
  std::uint64_t launches = 0;
  std::uint64_t graph_launches = 0;
};

// Launches that started in the window, of all processes; a kernel that several processes use is one
// row.
[[nodiscard]] KernelTable kernel_table(std::span<const gpu::ActivityTrace> traces,
                                       const TimeWindow& window);

// CSV with a header; units are in the column names.
[[nodiscard]] std::string kernel_csv(const KernelTable& table);

}  // namespace carpool::profile
