#include "profile/kernel_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace carpool::profile {
namespace {

using Launch = gpu::activity_format::Launch;

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

auto key_of(const gpu::ActivityKernel& kernel) {
  return std::tuple(std::string_view(kernel.name),
                    kernel.facts.grid,
                    kernel.facts.block,
                    kernel.facts.dynamic_shared_bytes);
}
using Key = decltype(key_of(std::declval<const gpu::ActivityKernel&>()));

gpu::activity_format::Device device_of(const gpu::ActivityTrace& trace) {
  return trace.devices.empty() ? gpu::activity_format::Device{} : trace.devices.front().facts;
}

// A quoted CSV field without line breaks.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"') {
      out += '"';
    }
    out += letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  return out + '"';
}

}  // namespace

KernelTable kernel_table(std::span<const gpu::ActivityTrace> traces, const TimeWindow& window) {
  KernelTable table;
  std::map<Key, std::size_t> known;
  for (const gpu::ActivityTrace& trace : traces) {
    std::vector<std::size_t> row_of;
    row_of.reserve(trace.kernels.size());
    for (const gpu::ActivityKernel& kernel : trace.kernels) {
      const auto [row, added] = known.emplace(key_of(kernel), table.rows.size());
      if (added) {
        table.rows.push_back({.name = demangled(kernel.name),
                              .symbol = kernel.name,
                              .facts = kernel.facts,
                              .occupancy = gpu::occupancy_of(kernel.facts, device_of(trace))});
      }
      row_of.push_back(row->second);
    }
    for (const Launch& launch : trace.launches) {
      if (!window.holds(launch.start_ns)) {
        continue;
      }
      KernelRow& row = table.rows[row_of[launch.kernel]];
      ++row.count;
      row.seconds += static_cast<double>(launch.duration_ns) * 1e-9;
      ++table.launches;
      table.graph_launches += (launch.flags & gpu::activity_format::kGraphNode) != 0 ? 1 : 0;
    }
  }
  std::erase_if(table.rows, [](const KernelRow& row) { return row.count == 0; });
  std::sort(table.rows.begin(), table.rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return std::tie(b.seconds, a.symbol, a.facts.grid, a.facts.block) <
           std::tie(a.seconds, b.symbol, b.facts.grid, b.facts.block);
  });
  for (const KernelRow& row : table.rows) {
    table.seconds += row.seconds;
  }
  for (KernelRow& row : table.rows) {
    row.share = table.seconds > 0.0 ? row.seconds / table.seconds : 0.0;
  }
  return table;
}

std::string kernel_csv(const KernelTable& table) {
  std::string out =
      "name,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers_per_thread,static_smem_bytes,"
      "dynamic_smem_bytes,local_bytes_per_thread,count,total_s,mean_us,time_share,"
      "theoretical_occupancy,resident_occupancy,blocks_per_sm,waves,sms\n";
  for (const KernelRow& row : table.rows) {
    const gpu::activity_format::Kernel& facts = row.facts;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{:.9f},{:.4f},{:.6g},{:.4g},{:.4g},{:.0f},"
        "{:.6g},{:.0f}\n",
        quoted(row.name),
        facts.grid[0],
        facts.grid[1],
        facts.grid[2],
        facts.block[0],
        facts.block[1],
        facts.block[2],
        facts.registers_per_thread,
        facts.static_shared_bytes,
        facts.dynamic_shared_bytes,
        facts.local_bytes_per_thread,
        row.count,
        row.seconds,
        row.seconds / static_cast<double>(row.count) * 1e6,
        row.share,
        row.occupancy.theoretical,
        row.occupancy.resident,
        row.occupancy.blocks_per_sm,
        row.occupancy.waves,
        row.occupancy.sms);
  }
  return out;
}

}  // namespace carpool::profile
