// The values of the GPUs under the names, units and labels of NVIDIA's dcgm-exporter, for
// dashboards that were made for it. The numbers in the comments are DCGM's field identifiers, which
// stay when a release renames a field.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "serve/metrics/metric_source.hpp"

namespace carpool::serve {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kPercent = 100.0;
constexpr double kMillijoules = 1000.0;

std::optional<double> scaled(const std::optional<double>& value, double factor) {
  return value ? std::optional(factor * *value) : std::nullopt;
}

template <class Number>
std::optional<double> as_double(const std::optional<Number>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

template <auto kMember>
std::optional<double> activity(const GpuReading& gpu) {
  return gpu.activity ? (*gpu.activity).*kMember : std::nullopt;
}

// kValue: a function of a GpuReading that returns an optional number.
template <auto kValue>
void read_dcgm(const MetricSource& from, Samples& out) {
  for (const GpuReading& gpu : from.gpus) {
    if (const std::optional<double> value = kValue(gpu)) {
      const std::string index = fmt::format("{}", gpu.info.index);
      out.add({index,
               gpu.info.uuid,
               gpu.info.pci_bus,
               "nvidia" + index,
               gpu.info.name,
               from.totals.dcgm_host.value_or("")},
              *value);
    }
  }
}

template <auto kValue>
Metric dcgm(std::string_view name, std::string_view type, std::string_view help) {
  return {{name, type, {"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname"}, help},
          read_dcgm<kValue>};
}

using Gpu = const GpuReading&;

}  // namespace

std::vector<Metric> dcgm_metrics() {
  return {
      // 100, 101
      dcgm<[](Gpu gpu) { return gpu.sample.sm_clock_mhz; }>(
          "DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)."),
      dcgm<[](Gpu gpu) { return gpu.sample.memory_clock_mhz; }>(
          "DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock (MHz)."),
      // 150, 155, 156
      dcgm<[](Gpu gpu) { return gpu.sample.temperature_celsius; }>(
          "DCGM_FI_DEV_GPU_TEMP", "gauge", "Temperature (C)."),
      dcgm<[](Gpu gpu) { return gpu.sample.power_watts; }>(
          "DCGM_FI_DEV_POWER_USAGE", "gauge", "Power (W)."),
      dcgm<[](Gpu gpu) {
        return gpu.energy ? std::optional(kMillijoules * gpu.energy->joules) : std::nullopt;
      }>("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
         "counter",
         "Energy since the driver was loaded (mJ)."),
      // 203, 204
      dcgm<[](Gpu gpu) { return scaled(gpu.sample.gpu_utilisation, kPercent); }>(
          "DCGM_FI_DEV_GPU_UTIL", "gauge", "Time with any kernel (%)."),
      dcgm<[](Gpu gpu) { return scaled(gpu.sample.memory_utilisation, kPercent); }>(
          "DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Time with the memory controller busy (%)."),
      // 230
      dcgm<[](Gpu gpu) -> std::optional<double> {
        return gpu.health.xid_errors
                   ? std::optional(static_cast<double>(gpu.health.last_xid.value_or(0)))
                   : std::nullopt;
      }>("DCGM_FI_DEV_XID_ERRORS", "gauge", "Number of the last XID error; 0: none."),
      // 251, 252
      dcgm<[](Gpu gpu) -> std::optional<double> {
        return static_cast<double>(gpu.info.memory_bytes -
                                   std::min(gpu.info.memory_bytes, gpu.sample.memory_used_bytes)) /
               kMebibyte;
      }>("DCGM_FI_DEV_FB_FREE", "gauge", "Memory that is free (MiB)."),
      dcgm<[](Gpu gpu) -> std::optional<double> {
        return static_cast<double>(gpu.sample.memory_used_bytes) / kMebibyte;
      }>("DCGM_FI_DEV_FB_USED", "gauge", "Memory in use (MiB)."),
      // 310, 311
      dcgm<[](Gpu gpu) { return as_double(gpu.health.ecc_corrected); }>(
          "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
          "counter",
          "Corrected ECC errors since the driver was "
          "loaded."),
      dcgm<[](Gpu gpu) { return as_double(gpu.health.ecc_uncorrected); }>(
          "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
          "counter",
          "Uncorrected ECC errors since the driver was loaded."),
      // 1001 to 1005
      dcgm<activity<&GpuActivity::graphics_active>>(
          "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Time with an engine busy (0 to 1)."),
      dcgm<activity<&GpuActivity::sm_active>>(
          "DCGM_FI_PROF_SM_ACTIVE", "gauge", "SMs with at least one warp (0 to 1)."),
      dcgm<activity<&GpuActivity::sm_occupancy>>(
          "DCGM_FI_PROF_SM_OCCUPANCY", "gauge", "Resident warps of those that fit (0 to 1)."),
      dcgm<activity<&GpuActivity::tensor_active>>(
          "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Cycles with tensor cores active (0 to 1)."),
      dcgm<activity<&GpuActivity::dram_active>>(
          "DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Cycles in which memory moves data (0 to 1)."),
  };
}

}  // namespace carpool::serve
