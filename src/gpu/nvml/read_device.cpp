#include "gpu/nvml/read_device.hpp"

#include <array>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "gpu/nvml/gpm_span.hpp"

namespace carpool::gpu::nvml {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMilli = 0.001;

template <class T>
std::optional<double> scaled(const std::optional<T>& value, double factor) {
  return value ? std::optional(factor * static_cast<double>(*value)) : std::nullopt;
}

// The newer call excludes the driver's reserve from `used`; the older one is the fallback.
Memory read_memory(const DeviceRef& gpu, Reader& reader) {
  const Functions& call = gpu.library->call();
  if (call.memory_v2 != nullptr) {
    MemoryV2 memory{.version = version_word<MemoryV2>(2)};
    if (call.memory_v2(gpu.handle, &memory) == kSuccess) {
      return {.total = memory.total, .free = memory.free, .used = memory.used};
    }
  }
  return reader.require<Memory>("memory", call.memory);
}

std::optional<std::string> compute_mode_name(const std::optional<unsigned>& mode) {
  if (!mode) {
    return std::nullopt;
  }
  switch (*mode) {
    case kComputeModeDefault:
      return "default";
    case kComputeModeProhibited:
      return "prohibited";
    case kComputeModeExclusiveProcess:
      return "exclusive-process";
    default:
      return fmt::format("mode {}", *mode);
  }
}

std::string compute_capability(const DeviceRef& gpu) {
  int major = 0;
  int minor = 0;
  const auto function = gpu.library->call().compute_capability;
  if (function == nullptr || function(gpu.handle, &major, &minor) != kSuccess) {
    return {};
  }
  return fmt::format("{}.{}", major, minor);
}

std::string driver_version(const Library& library) {
  std::string buffer(kTextBytes, '\0');
  const auto function = library.call().driver_version;
  if (function == nullptr || function(buffer.data(), kTextBytes) != kSuccess) {
    return {};
  }
  return buffer.c_str();
}

bool mig_enabled(const DeviceRef& gpu) {
  unsigned current = 0;
  unsigned pending = 0;
  const auto function = gpu.library->call().mig_mode;
  return function != nullptr && function(gpu.handle, &current, &pending) == kSuccess &&
         current == 1;
}

// The driver names a slice "NVIDIA H200 MIG 1g.18gb".
std::string mig_profile(const std::string& name) {
  constexpr std::string_view kMark = "MIG ";
  const std::size_t at = name.find(kMark);
  return at == std::string::npos ? name : name.substr(at + kMark.size());
}

Result<std::vector<MigSlice>> read_mig(const DeviceRef& gpu) {
  const Functions& call = gpu.library->call();
  Reader parent(gpu);
  const unsigned slots = parent.read<unsigned>("number of MIG slices", call.mig_slots).value_or(0);
  std::vector<MigSlice> slices;
  for (unsigned i = 0; i < slots && call.mig_by_index != nullptr; ++i) {
    DeviceRef slice{.library = gpu.library, .index = gpu.index};
    if (call.mig_by_index(gpu.handle, i, &slice.handle) != kSuccess) {
      continue;  // an empty slot
    }
    Reader reader(slice);
    MigSlice found{.uuid = reader.text("UUID of a MIG slice", call.uuid),
                   .profile = mig_profile(reader.text("name of a MIG slice", call.name)),
                   .memory_bytes = read_memory(slice, reader).total};
    auto complete = reader.finish(std::move(found));
    if (!complete) {
      return tl::unexpected(std::move(complete.error()));
    }
    slices.push_back(std::move(*complete));
  }
  return parent.finish(std::move(slices));
}

}  // namespace

std::vector<std::string> reason_names(unsigned long long bits) {
  struct Reason {
    unsigned long long bit;
    const char* name;
  };
  // A hardware slowdown is thermal, a power brake or both; newer GPUs also set the specific bit.
  static constexpr std::array kReasons{
      Reason{kReasonSoftwarePowerCap, "power-cap"},
      Reason{kReasonSoftwareThermal | kReasonHardwareThermal, "thermal"},
      Reason{kReasonPowerBrake, "power-brake"},
      Reason{kReasonHardwareSlowdown, "hardware-slowdown"},
      Reason{kReasonSyncBoost, "sync-boost"},
      Reason{kReasonClockSetting, "clock-setting"},
      Reason{kReasonDisplayClock, "display-clock"},
  };
  std::vector<std::string> names;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) != 0) {
      names.emplace_back(reason.name);
    }
  }
  return names;
}

Result<GpuInfo> read_info(const DeviceRef& gpu) {
  const Functions& call = gpu.library->call();
  Reader reader(gpu);
  GpuInfo info{
      .index = gpu.index,
      .uuid = reader.text("UUID", call.uuid),
      .name = reader.text("name", call.name),
      .driver = driver_version(*gpu.library),
      .compute_capability = compute_capability(gpu),
      .memory_bytes = read_memory(gpu, reader).total,
      .power_limit_watts = scaled(reader.read<unsigned>("power limit", call.power_limit), kMilli),
      .compute_mode = compute_mode_name(reader.read<unsigned>("compute mode", call.compute_mode)),
      .mig_enabled = mig_enabled(gpu),
      .fine_activity = gpm_supported(gpu)};
  if (const auto pci = reader.read<PciInfo>("PCI address", call.pci_info)) {
    info.pci_bus = pci->bus_id.data();
  }
  if (info.mig_enabled) {
    auto slices = read_mig(gpu);
    if (!slices) {
      return tl::unexpected(std::move(slices.error()));
    }
    info.mig = std::move(*slices);
  }
  return reader.finish(std::move(info));
}

Result<GpuSample> read_sample(const DeviceRef& gpu) {
  const Functions& call = gpu.library->call();
  Reader reader(gpu);
  GpuSample sample{.at_ns = monotonic_ns(), .memory_used_bytes = read_memory(gpu, reader).used};
  if (const auto utilisation = reader.read<Utilization>("utilisation", call.utilization)) {
    sample.gpu_utilisation = kPercent * utilisation->gpu;
    sample.memory_utilisation = kPercent * utilisation->memory;
  }
  sample.power_watts = scaled(reader.read<unsigned>("power", call.power), kMilli);
  sample.sm_clock_mhz = scaled(reader.read<unsigned>("SM clock", call.clock, kClockSm), 1.0);
  sample.memory_clock_mhz =
      scaled(reader.read<unsigned>("memory clock", call.clock, kClockMemory), 1.0);
  sample.temperature_celsius =
      scaled(reader.read<unsigned>("temperature", call.temperature, kTemperatureGpu), 1.0);
  sample.throttle_reasons = reason_names(
      reader.read<unsigned long long>("reasons to throttle", call.clock_reasons).value_or(0));
  return reader.finish(std::move(sample));
}

Result<std::optional<GpuEnergy>> read_energy(const DeviceRef& gpu) {
  Reader reader(gpu);
  const std::int64_t at_ns = monotonic_ns();
  const auto millijoules = reader.read<unsigned long long>("energy", gpu.library->call().energy);
  std::optional<GpuEnergy> energy;
  if (millijoules) {
    energy = GpuEnergy{.at_ns = at_ns, .joules = kMilli * static_cast<double>(*millijoules)};
  }
  return reader.finish(energy);
}

Result<GpuActivity> with_substitute_metrics(const DeviceRef& gpu, GpuActivity activity) {
  if (activity.graphics_active && activity.dram_active) {
    return activity;
  }
  Reader reader(gpu);
  const auto coarse = reader.read<Utilization>("utilisation", gpu.library->call().utilization);
  if (coarse && !activity.graphics_active) {
    activity.graphics_active = kPercent * coarse->gpu;
    activity.substitute_metrics.emplace_back("graphics_active: GPU utilisation");
  }
  if (coarse && !activity.dram_active) {
    activity.dram_active = kPercent * coarse->memory;
    activity.substitute_metrics.emplace_back("dram_active: memory utilisation");
  }
  return reader.finish(std::move(activity));
}

}  // namespace carpool::gpu::nvml
