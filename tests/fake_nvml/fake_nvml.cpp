// A fake libnvidia-ml.so.1 with the functions that src/gpu/nvml/ calls and NVIDIA's names, layouts
// and codes. settings.hpp configures it; by default there are two GPUs "Fake H200". FAKE_NVML_OLD
// makes a driver without GPM, MPS lists and newer layouts.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "device.hpp"
#include "gpu/nvml/abi.hpp"
#include "settings.hpp"

using namespace carpool::gpu::nvml;  // NOLINT(google-build-using-namespace): the layouts are its
using fake_nvml::kMostGpus;
using fake_nvml::kMostSlices;
using fake_nvml::Settings;
using fake_nvml::told;
using fake_nvml::value;

struct carpool::gpu::nvml::OpaqueGpmSample {
  unsigned gpu = 0;
};

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a driver has a state
std::atomic<int> g_users{0};
std::atomic<unsigned long long> g_energy_calls{0};
OpaqueDevice g_devices[kMostGpus][kMostSlices + 1];
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

Return put(const std::string& text, char* out, unsigned room) {
  if (text.size() + 1 > room) {
    return kInsufficientSize;
  }
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

Return list(const char* function,
            const OpaqueDevice* device,
            const char* key,
            unsigned* count,
            ProcessInfo* out) {
  const Settings settings = Settings::current();
  if (const Return code = told(settings, function); code != kSuccess) {
    return code;
  }
  const std::vector<std::string> words = settings.words_of(device->gpu, key);
  const auto room = *count;
  *count = static_cast<unsigned>(words.size());
  if (words.size() > room) {
    return kInsufficientSize;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t colon = words[i].find(':');
    const std::string bytes = words[i].substr(colon + 1);
    out[i] = {.pid = static_cast<unsigned>(std::stoul(words[i].substr(0, colon))),
              .used_memory = bytes == "-" ? kValueNotAvailable : std::stoull(bytes)};
  }
  return kSuccess;
}

unsigned long long total_memory(const Settings& settings, const OpaqueDevice* device) {
  constexpr unsigned long long kH200 = 150'754'820'096;
  const auto whole = settings.number_of(device->gpu, "memory_total", kH200);
  return device->slice < 0 ? whole : whole / kMostSlices;
}

}  // namespace

Return fake_nvml::told(const Settings& settings, const char* function) {
  const auto code = static_cast<Return>(settings.number(std::string("fail.") + function, kSuccess));
  return code == kSuccess && g_users.load() == 0 ? kUninitialized : code;
}

Device fake_nvml::whole_gpu(unsigned gpu) {
  return &g_devices[gpu][kMostSlices];
}

// NOLINTBEGIN(readability-identifier-naming,misc-use-internal-linkage): the vendor's names
extern "C" {

Return nvmlInit_v2() {
  const auto code = static_cast<Return>(Settings::current().number("fail.nvmlInit_v2", kSuccess));
  if (code == kSuccess) {
    ++g_users;
  }
  return code;
}

Return nvmlShutdown() {
  return g_users.fetch_sub(1) > 0 ? kSuccess : kUninitialized;
}

const char* nvmlErrorString(Return code) {
  return code == kSuccess ? "Success" : "an error of the fake driver";
}

Return nvmlSystemGetDriverVersion(char* out, unsigned room) {
  return put(Settings::current().text("driver", "580.159.04"), out, room);
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  const Settings settings = Settings::current();
  *count =
      static_cast<unsigned>(std::min<unsigned long long>(settings.number("gpus", 2), kMostGpus));
  return told(settings, "nvmlDeviceGetCount_v2");
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const Settings settings = Settings::current();
  if (index >= std::min<unsigned long long>(settings.number("gpus", 2), kMostGpus)) {
    return kInvalidArgument;
  }
  *device = &g_devices[index][kMostSlices];
  **device = {.gpu = index};
  return told(settings, "nvmlDeviceGetHandleByIndex_v2");
}

Return nvmlDeviceGetName(Device device, char* out, unsigned room) {
  const Settings settings = Settings::current();
  if (const Return code = told(settings, "nvmlDeviceGetName"); code != kSuccess) {
    return code;
  }
  std::string name = settings.text_of(device->gpu, "name", "Fake H200");
  if (device->slice >= 0) {
    name += " MIG " + settings.words_of(device->gpu, "mig")[static_cast<unsigned>(device->slice)];
  }
  return put(name, out, room);
}

Return nvmlDeviceGetUUID(Device device, char* out, unsigned room) {
  const Settings settings = Settings::current();
  if (const Return code = told(settings, "nvmlDeviceGetUUID"); code != kSuccess) {
    return code;
  }
  // Servers lock GPUs by this name, so the GPUs of tests that run at once have different ones.
  const std::string number = Settings::machine() + "-" + std::to_string(device->gpu);
  if (device->slice >= 0) {
    return put("MIG-fake-" + number + "-" + std::to_string(device->slice), out, room);
  }
  return put(settings.text_of(device->gpu, "uuid", "GPU-fake-" + number), out, room);
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  *out = {.domain = 0, .bus = device->gpu + 1};
  const std::string bus = "00000000:0" + std::to_string(device->gpu + 1) + ":00.0";
  return put(bus, out->bus_id.data(), static_cast<unsigned>(out->bus_id.size()));
}

Return nvmlDeviceGetCudaComputeCapability(Device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return told(Settings::current(), "nvmlDeviceGetCudaComputeCapability");
}

Return nvmlDeviceGetComputeMode(Device device, unsigned* mode) {
  return value("nvmlDeviceGetComputeMode", device, "compute_mode", kComputeModeDefault, mode);
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return value("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit_mw", 700'000, milliwatts);
}

Return nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  const Settings settings = Settings::current();
  out->total = total_memory(settings, device);
  out->used = settings.number_of(device->gpu, "memory_used", 2'147'483'648);
  out->free = out->total - out->used;
  return told(settings, "nvmlDeviceGetMemoryInfo");
}

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  const Return code = value("nvmlDeviceGetUtilizationRates", device, "utilization", 97, &out->gpu);
  (void)value("nvmlDeviceGetUtilizationRates", device, "memory_utilization", 31, &out->memory);
  return code;
}

Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return value("nvmlDeviceGetPowerUsage", device, "power_mw", 412'500, milliwatts);
}

// One joule more at each call, as the fake has no clock.
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  const Return code =
      value("nvmlDeviceGetTotalEnergyConsumption", device, "energy_mj", 5'000'000'000, millijoules);
  *millijoules += 1000 * g_energy_calls++;
  return code;
}

Return nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* mhz) {
  return type == kClockMemory ? value("nvmlDeviceGetClockInfo", device, "memory_clock", 3201, mhz)
                              : value("nvmlDeviceGetClockInfo", device, "sm_clock", 1980, mhz);
}

Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  return value("nvmlDeviceGetTemperature", device, "temperature", 45, celsius);
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* bits) {
  return value("nvmlDeviceGetCurrentClocksThrottleReasons", device, "clock_reasons", 0, bits);
}

Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessInfo* out) {
  return list("nvmlDeviceGetComputeRunningProcesses_v2", device, "processes", count, out);
}

#ifndef FAKE_NVML_OLD

Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  constexpr unsigned long long kReserved = 629'145'600;
  if (out->version != version_word<MemoryV2>(2)) {
    return kVersionMismatch;
  }
  const Settings settings = Settings::current();
  out->total = total_memory(settings, device);
  out->reserved = kReserved;
  out->used = settings.number_of(device->gpu, "memory_used", 2'147'483'648);
  out->free = out->total - out->used - out->reserved;
  return told(settings, "nvmlDeviceGetMemoryInfo_v2");
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* bits) {
  return value("nvmlDeviceGetCurrentClocksEventReasons", device, "clock_reasons", 0, bits);
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  return list("nvmlDeviceGetComputeRunningProcesses_v3", device, "processes", count, out);
}

Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device,
                                                  unsigned* count,
                                                  ProcessInfo* out) {
  return list("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, "mps_processes", count, out);
}

Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  const Settings settings = Settings::current();
  *current = settings.words_of(device->gpu, "mig").empty() ? 0 : 1;
  *pending = *current;
  return told(settings, "nvmlDeviceGetMigMode");
}

Return nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* count) {
  *count = kMostSlices;
  return told(Settings::current(), "nvmlDeviceGetMaxMigDeviceCount");
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* slice) {
  const Settings settings = Settings::current();
  if (index >= std::min<std::size_t>(settings.words_of(device->gpu, "mig").size(), kMostSlices)) {
    return kNotFound;
  }
  *slice = &g_devices[device->gpu][index];
  **slice = {.gpu = device->gpu, .slice = static_cast<int>(index)};
  return told(settings, "nvmlDeviceGetMigDeviceHandleByIndex");
}

Return nvmlGpmQueryDeviceSupport(Device device, GpmSupport* out) {
  if (out->version != kGpmVersion) {
    return kVersionMismatch;
  }
  return value("nvmlGpmQueryDeviceSupport", device, "gpm", 1, &out->supported);
}

Return nvmlGpmSampleAlloc(GpmSample* sample) {
  *sample = new OpaqueGpmSample;
  return told(Settings::current(), "nvmlGpmSampleAlloc");
}

Return nvmlGpmSampleFree(GpmSample sample) {
  delete sample;
  return kSuccess;
}

Return nvmlGpmSampleGet(Device device, GpmSample sample) {
  sample->gpu = device->gpu;
  return told(Settings::current(), "nvmlGpmSampleGet");
}

// Metric N is N percent or N MiB/s by default.
Return nvmlGpmMetricsGet(GpmMetricsGet* request) {
  const Settings settings = Settings::current();
  if (request->version != kGpmVersion) {
    return kVersionMismatch;
  }
  if (request->from == nullptr || request->to == nullptr) {
    return kInvalidArgument;
  }
  for (unsigned i = 0; i < request->count; ++i) {
    const auto id = std::to_string(static_cast<unsigned>(request->metrics[i].id));
    const std::string text = settings.text_of(request->to->gpu, "gpm." + id, id);
    request->metrics[i].result = text == "-" ? kNotSupported : kSuccess;
    request->metrics[i].value = std::strtod(text.c_str(), nullptr);
  }
  return told(settings, "nvmlGpmMetricsGet");
}

#endif
}
// NOLINTEND(readability-identifier-naming,misc-use-internal-linkage)
