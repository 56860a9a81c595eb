// Metrics of the GPUs. What a GPU or driver does not report is left out.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "serve/metrics/metric_source.hpp"

namespace carpool::serve {
namespace {

template <class Read>
void for_each_gpu(const MetricSource& from, Read read) {
  for (const GpuView& gpu : from.scheduler.gpus()) {
    read(gpu, fmt::format("{}", gpu.index));
  }
}

void read_gpu_memory(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    for (const auto& [kind, bytes] : {std::pair("total", gpu.memory_bytes),
                                      std::pair("used", gpu.used_bytes),
                                      std::pair("foreign", gpu.foreign_bytes),
                                      std::pair("unclaimed", gpu.free_bytes())}) {
      out.add({index, gpu.uuid, kind}, bytes);
    }
  });
}

// Jobs of each GPU, or those that are paused.
template <bool kPausedOnly>
void read_gpu_jobs(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    out.add({index}, std::ranges::count_if(gpu.residents, [](const Resident& resident) {
              return !kPausedOnly || resident.phase == ResidentPhase::Paused;
            }));
  });
}

void read_gpu_usable(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    out.add({index}, gpu.unusable.empty() ? 1 : 0);
  });
}

void read_gpu_sm_active(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    if (gpu.pressure) {
      out.add({index}, gpu.pressure->sm_active);
    }
  });
}

void read_gpu_info(const MetricSource& from, Samples& out) {
  for (const GpuReading& reading : from.gpus) {
    out.add({fmt::format("{}", reading.gpu),
             reading.info.uuid,
             reading.info.name,
             reading.info.driver,
             reading.info.pci_bus},
            1);
  }
}

// One value of each reading, an optional.
template <auto kValue>
void read_sensor(const MetricSource& from, Samples& out) {
  for (const GpuReading& reading : from.gpus) {
    if (const auto value = kValue(reading)) {
      out.add({fmt::format("{}", reading.gpu)}, *value);
    }
  }
}

std::optional<double> power(const GpuReading& reading) {
  return reading.sample.power_watts;
}
std::optional<double> power_limit(const GpuReading& reading) {
  return reading.info.power_limit_watts;
}
std::optional<double> temperature(const GpuReading& reading) {
  return reading.sample.temperature_celsius;
}
std::optional<double> energy(const GpuReading& reading) {
  return reading.energy ? std::optional(reading.energy->joules) : std::nullopt;
}
std::optional<double> busy(const GpuReading& reading) {
  return reading.sample.gpu_utilisation;
}
std::optional<double> sm_occupancy(const GpuReading& reading) {
  return reading.activity ? reading.activity->sm_occupancy : std::nullopt;
}
std::optional<double> tensor_active(const GpuReading& reading) {
  return reading.activity ? reading.activity->tensor_active : std::nullopt;
}
std::optional<double> dram_active(const GpuReading& reading) {
  return reading.activity ? reading.activity->dram_active : std::nullopt;
}
std::optional<std::uint64_t> xid_errors(const GpuReading& reading) {
  return reading.health.xid_errors;
}
std::optional<std::uint64_t> last_xid(const GpuReading& reading) {
  return reading.health.last_xid;
}

void read_clocks(const MetricSource& from, Samples& out) {
  constexpr double kMega = 1e6;
  for (const GpuReading& reading : from.gpus) {
    for (const auto& [clock, mhz] : {std::pair("sm", reading.sample.sm_clock_mhz),
                                     std::pair("memory", reading.sample.memory_clock_mhz)}) {
      if (mhz) {
        out.add({fmt::format("{}", reading.gpu), clock}, kMega * *mhz);
      }
    }
  }
}

void read_throttled(const MetricSource& from, Samples& out) {
  for (const GpuReading& reading : from.gpus) {
    if (!reading.health.throttle_reasons) {
      continue;
    }
    for (const std::string_view reason : kThrottleReasons) {
      const auto& now = *reading.health.throttle_reasons;
      out.add({fmt::format("{}", reading.gpu), reason},
              std::ranges::find(now, reason) == now.end() ? 0 : 1);
    }
  }
}

void read_ecc(const MetricSource& from, Samples& out) {
  for (const GpuReading& reading : from.gpus) {
    for (const auto& [kind, errors] : {std::pair("corrected", reading.health.ecc_corrected),
                                       std::pair("uncorrected", reading.health.ecc_uncorrected)}) {
      if (errors) {
        out.add({fmt::format("{}", reading.gpu), kind}, *errors);
      }
    }
  }
}

}  // namespace

std::vector<Metric> gpu_metrics() {
  return {
      {{"carpool_gpu_info",
        "gauge",
        {"gpu", "uuid", "model", "driver", "pci_bus"},
        "Always 1 for each GPU that can be read, to join with other metrics."},
       read_gpu_info},
      {{"carpool_gpu_memory_bytes",
        "gauge",
        {"gpu", "uuid", "kind"},
        "Memory of a GPU: total, used, foreign, unclaimed."},
       read_gpu_memory},
      {{"carpool_gpu_jobs", "gauge", {"gpu"}, "Jobs on a GPU."}, read_gpu_jobs<false>},
      {{"carpool_paused_jobs", "gauge", {"gpu"}, "Jobs on a GPU that are paused now."},
       read_gpu_jobs<true>},
      {{"carpool_gpu_usable", "gauge", {"gpu"}, "1 where jobs may be placed."}, read_gpu_usable},
      {{"carpool_gpu_busy_ratio", "gauge", {"gpu"}, "Fraction of the time with any kernel."},
       read_sensor<busy>},
      {{"carpool_gpu_sm_active_ratio",
        "gauge",
        {"gpu"},
        "Fraction of the SMs that were active in the last window."},
       read_gpu_sm_active},
      {{"carpool_gpu_sm_occupancy_ratio",
        "gauge",
        {"gpu"},
        "Resident warps as a fraction of those that the SMs hold."},
       read_sensor<sm_occupancy>},
      {{"carpool_gpu_tensor_active_ratio",
        "gauge",
        {"gpu"},
        "Fraction of the cycles in which tensor cores were active."},
       read_sensor<tensor_active>},
      {{"carpool_gpu_dram_active_ratio",
        "gauge",
        {"gpu"},
        "Fraction of the cycles in which the memory of the GPU moved data."},
       read_sensor<dram_active>},
      {{"carpool_gpu_power_watts", "gauge", {"gpu"}, "Power that a GPU draws."},
       read_sensor<power>},
      {{"carpool_gpu_power_limit_watts", "gauge", {"gpu"}, "Power limit of a GPU."},
       read_sensor<power_limit>},
      {{"carpool_gpu_energy_joules_total",
        "counter",
        {"gpu"},
        "Energy of a GPU since its driver was loaded."},
       read_sensor<energy>},
      {{"carpool_gpu_temperature_celsius", "gauge", {"gpu"}, "Temperature of a GPU."},
       read_sensor<temperature>},
      {{"carpool_gpu_clock_hertz", "gauge", {"gpu", "clock"}, "Clock of a GPU: sm, memory."},
       read_clocks},
      {{"carpool_gpu_throttled",
        "gauge",
        {"gpu", "reason"},
        "1 while this limits the clocks of a GPU."},
       read_throttled},
      {{"carpool_gpu_ecc_errors_total",
        "counter",
        {"gpu", "kind"},
        "ECC errors of a GPU since its driver was loaded: corrected, uncorrected."},
       read_ecc},
      {{"carpool_gpu_xid_errors_total",
        "counter",
        {"gpu"},
        "XID errors of a GPU since the server started."},
       read_sensor<xid_errors>},
      {{"carpool_gpu_last_xid",
        "gauge",
        {"gpu"},
        "Number of the last XID error; absent until there is one."},
       read_sensor<last_xid>},
  };
}

}  // namespace carpool::serve
