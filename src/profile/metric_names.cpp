#include "profile/metric_names.hpp"

#include <algorithm>
#include <array>

namespace carpool::profile {
namespace {

constexpr std::string_view kSystem = "system";
constexpr std::string_view kGpm = "gpm";
constexpr std::string_view kKernel = "kernel";
constexpr std::string_view kActivity = "activity";
constexpr std::string_view kXu = "xu";

// The published procedure sums kernel metrics over members, percentages included.
constexpr std::array<KnownMetric, 45> kMetrics = {{
    {"sm_busy_pct", dataset::Combine::Mean, kSystem, "time with any kernel on the GPU, NVML [%]"},
    {"mem_busy_pct",
     dataset::Combine::Mean,
     kSystem,
     "time with the memory controller busy, NVML [%]"},
    {"memcap_gb",
     dataset::Combine::Sum,
     kSystem,
     "most GPU memory of the program's processes [GiB]"},
    {"power_w", dataset::Combine::Sum, kSystem, "power of the GPU [W]"},
    {"graphics_active", dataset::Combine::Mean, kGpm, "time with any engine busy [0 to 1]"},
    {"sm_active", dataset::Combine::Mean, kGpm, "SMs with at least one warp, averaged [0 to 1]"},
    {"sm_occupancy", dataset::Combine::Mean, kGpm, "resident warps of those that fit [0 to 1]"},
    {"dram_active", dataset::Combine::Mean, kGpm, "DRAM cycles that move data [0 to 1]"},
    {"tensor_active", dataset::Combine::Mean, kGpm, "cycles with the tensor pipe busy [0 to 1]"},
    {"fp64_active", dataset::Combine::Mean, kGpm, "cycles with the fp64 pipe busy [0 to 1]"},
    {"fp32_active", dataset::Combine::Mean, kGpm, "cycles with the fp32 pipe busy [0 to 1]"},
    {"fp16_active", dataset::Combine::Mean, kGpm, "cycles with the fp16 pipe busy [0 to 1]"},
    {"pcie_read_mb_per_s", dataset::Combine::Sum, kGpm, "from the host to the GPU [MB/s]"},
    {"pcie_write_mb_per_s", dataset::Combine::Sum, kGpm, "from the GPU to the host [MB/s]"},
    {"threads", dataset::Combine::Sum, kKernel, "threads of a launch, weighted by time"},
    {"registers",
     dataset::Combine::Sum,
     kKernel,
     "registers of all threads of a launch, weighted by time"},
    {"static_smem",
     dataset::Combine::Sum,
     kKernel,
     "static shared memory of all blocks of a launch, weighted by time [bytes]"},
    {"sm_throughput_pct", dataset::Combine::Sum, kKernel, "of the SMs' peak while kernels run [%]"},
    {"dram_throughput_pct",
     dataset::Combine::Sum,
     kKernel,
     "of the DRAM's peak while kernels run [%]"},
    {"mem_throughput_pct",
     dataset::Combine::Sum,
     kKernel,
     "of the peak of the busiest level of memory while kernels run [%]"},
    {"gpu_busy_share",
     dataset::Combine::Mean,
     kActivity,
     "time with at least one kernel running [0 to 1]"},
    {"sm_demand",
     dataset::Combine::Mean,
     kActivity,
     "SMs that the running kernels can fill [0 to 1]"},
    {"launches_per_s", dataset::Combine::Sum, kActivity, "kernels started [1/s]"},
    {"kernel_us_mean", dataset::Combine::Mean, kActivity, "time of a kernel [us]"},
    {"kernel_us_p50",
     dataset::Combine::Mean,
     kActivity,
     "half of the GPU's time is in shorter ones [us]"},
    {"kernel_us_p95",
     dataset::Combine::Mean,
     kActivity,
     "95 % of its time is in shorter ones [us]"},
    {"over_100us_share",
     dataset::Combine::Mean,
     kActivity,
     "kernel time in those above 100 us [0 to 1]"},
    {"over_1ms_share",
     dataset::Combine::Mean,
     kActivity,
     "kernel time in those above 1 ms [0 to 1]"},
    {"theoretical_occupancy",
     dataset::Combine::Mean,
     kActivity,
     "warps that fit, weighted by time [0 to 1]"},
    {"resident_occupancy",
     dataset::Combine::Mean,
     kActivity,
     "warps of the whole GPU that a kernel's grid fills, weighted by time [0 to 1]"},
    {"sms_needed",
     dataset::Combine::Sum,
     kActivity,
     "SMs that hold a kernel's grid, weighted by time"},
    {"block_us",
     dataset::Combine::Mean,
     kActivity,
     "time that a block keeps its place: kernel time over waves, weighted by time [us]"},
    {"copy_share", dataset::Combine::Mean, kActivity, "time of copies and memsets over all time"},
    {"graph_share",
     dataset::Combine::Mean,
     kActivity,
     "launches that came from CUDA graphs [0 to 1]"},
    {"top_kernel_share",
     dataset::Combine::Mean,
     kActivity,
     "kernel time in the longest-running one [0 to 1]"},
    {"kernels_distinct",
     dataset::Combine::Sum,
     kActivity,
     "kernels that differ in name, grid or block"},
    {"launches_per_step", dataset::Combine::Sum, kActivity, "kernels in one step"},
    {"xu_pcie_read", dataset::Combine::Sum, kXu, "from the host to the GPU [MB/s]"},
    {"xu_pcie_write", dataset::Combine::Sum, kXu, "from the GPU to the host [MB/s]"},
    {"xu_long_kernel_len", dataset::Combine::Sum, kXu, "mean time of kernels above 200 us [us]"},
    {"xu_avg_kernel_len", dataset::Combine::Sum, kXu, "mean time of all kernels [us]"},
    {"xu_long_short_ratio", dataset::Combine::Sum, kXu, "kernels above 200 us over kernels below"},
    {"xu_avg_threads", dataset::Combine::Sum, kXu, "threads of a launch, not weighted"},
    {"xu_cpu_pct", dataset::Combine::Mean, kXu, "processor time of the program; 100: one core [%]"},
    {"xu_mainmem_pct",
     dataset::Combine::Mean,
     kXu,
     "main memory of the program, of the machine's [%]"},
}};

}  // namespace

std::span<const KnownMetric> known_metrics() {
  return kMetrics;
}

const KnownMetric* find_metric(std::string_view name) {
  const auto* const found = std::find_if(
      kMetrics.begin(), kMetrics.end(), [name](const auto& m) { return m.name == name; });
  return found == kMetrics.end() ? nullptr : found;
}

}  // namespace carpool::profile
