// Properties of a GPU and its state at one moment. An absent value is one that this GPU or driver
// does not report; it is never replaced by zero. Every member has an initialiser, so that
// designated initialisers may leave it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carpool {

// One slice of a GPU in MIG mode.
struct MigSlice {
  std::string uuid{};
  std::string profile{};  // "1g.18gb", as the driver names it
  std::uint64_t memory_bytes = 0;
};

// Does not change while a program runs.
struct GpuInfo {
  unsigned index = 0;  // the driver's, not CUDA_VISIBLE_DEVICES'
  std::string uuid{};
  std::string name{};
  std::string driver{};              // "580.159.04"
  std::string pci_bus{};             // "00000000:01:00.0"
  std::string compute_capability{};  // "9.0"
  std::uint64_t memory_bytes = 0;
  std::optional<double> power_limit_watts{};
  std::optional<std::string> compute_mode{};  // "default", "exclusive-process", "prohibited"
  bool mig_enabled = false;
  std::vector<MigSlice> mig{};  // empty unless mig_enabled
  bool fine_activity = false;   // GpuActivity comes from counters of the SMs (GPM)

  // Its compute mode lets one process in; MPS makes one of many.
  [[nodiscard]] bool only_one_process() const { return compute_mode == "exclusive-process"; }
};

// One reading. Ratios are 0 to 1.
struct GpuSample {
  std::int64_t at_ns = 0;  // monotonic_ns() of base/clock.hpp
  std::uint64_t memory_used_bytes = 0;
  std::optional<double> gpu_utilisation{};     // share of time with any kernel resident
  std::optional<double> memory_utilisation{};  // share of time with the memory controller busy
  std::optional<double> power_watts{};
  std::optional<double> sm_clock_mhz{};
  std::optional<double> memory_clock_mhz{};
  std::optional<double> temperature_celsius{};
  std::vector<std::string> throttle_reasons{};  // empty: none; "power-cap", "thermal", …
};

// Energy since the driver was loaded, and when it was read.
struct GpuEnergy {
  std::int64_t at_ns = 0;  // monotonic_ns() of base/clock.hpp
  double joules = 0.0;
};

// Activity between two readings, averaged over the span. Ratios are 0 to 1.
struct GpuActivity {
  double span_seconds = 0.0;
  std::optional<double> graphics_active{};  // GRACT: any engine of compute or graphics busy
  std::optional<double> sm_active{};        // SMACT: SMs with at least one warp, averaged over SMs
  std::optional<double> sm_occupancy{};     // SMOCC: resident warps of those that fit
  std::optional<double> dram_active{};      // DRAM cycles that move data
  std::optional<double> tensor_active{};
  std::optional<double> fp64_active{};
  std::optional<double> fp32_active{};
  std::optional<double> fp16_active{};
  std::optional<double> pcie_read_bytes_per_second{};   // host to GPU
  std::optional<double> pcie_write_bytes_per_second{};  // GPU to host
  std::optional<double> nvlink_read_bytes_per_second{};
  std::optional<double> nvlink_write_bytes_per_second{};
  // Values taken from a coarser counter: "graphics_active: GPU utilisation".
  std::vector<std::string> substitute_metrics{};
};

// A process that holds memory on a GPU.
struct GpuProcess {
  std::int64_t pid = 0;
  std::optional<std::uint64_t> memory_bytes{};
  bool mps_client = false;
};

}  // namespace carpool
