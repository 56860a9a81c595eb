#include "gpu/nvml/library.hpp"

#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace carpool::gpu::nvml {
namespace {

// Fills in Functions and keeps the first missing essential name.
class Binder {
 public:
  explicit Binder(void* handle) : handle_(handle) {}

  // Names, newest first, all with the same signature and layouts.
  template <class F>
  void optional(F& slot, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (void* found = ::dlsym(handle_, name); found != nullptr) {
        slot = reinterpret_cast<F>(found);
        return;
      }
    }
  }

  template <class F>
  void essential(F& slot, const char* name) {
    optional(slot, {name});
    if (slot == nullptr && missing_.empty()) {
      missing_ = name;
    }
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

void bind_identity(Binder& binder, Functions& f) {
  binder.essential(f.init, "nvmlInit_v2");
  binder.essential(f.shutdown, "nvmlShutdown");
  binder.essential(f.device_count, "nvmlDeviceGetCount_v2");
  binder.essential(f.device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  binder.essential(f.name, "nvmlDeviceGetName");
  binder.essential(f.uuid, "nvmlDeviceGetUUID");
  binder.essential(f.memory, "nvmlDeviceGetMemoryInfo");
  binder.optional(f.error_string, {"nvmlErrorString"});
  binder.optional(f.driver_version, {"nvmlSystemGetDriverVersion"});
  binder.optional(f.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  binder.optional(f.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  binder.optional(f.compute_mode, {"nvmlDeviceGetComputeMode"});
  binder.optional(f.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  binder.optional(f.mig_mode, {"nvmlDeviceGetMigMode"});
  binder.optional(f.mig_slots, {"nvmlDeviceGetMaxMigDeviceCount"});
  binder.optional(f.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
}

void bind_sensors(Binder& binder, Functions& f) {
  binder.optional(f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  binder.optional(f.utilization, {"nvmlDeviceGetUtilizationRates"});
  binder.optional(f.power, {"nvmlDeviceGetPowerUsage"});
  binder.optional(f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  binder.optional(f.clock, {"nvmlDeviceGetClockInfo"});
  binder.optional(f.temperature, {"nvmlDeviceGetTemperature"});
  binder.optional(
      f.clock_reasons,
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  binder.optional(
      f.compute_processes,
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  binder.optional(
      f.mps_processes,
      {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  binder.optional(f.process_utilization, {"nvmlDeviceGetProcessUtilization"});
  binder.optional(f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  binder.optional(f.event_set_create, {"nvmlEventSetCreate"});
  binder.optional(f.event_set_free, {"nvmlEventSetFree"});
  binder.optional(f.register_events, {"nvmlDeviceRegisterEvents"});
  binder.optional(f.event_set_wait, {"nvmlEventSetWait_v2"});
  binder.optional(f.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  binder.optional(f.gpm_alloc, {"nvmlGpmSampleAlloc"});
  binder.optional(f.gpm_free, {"nvmlGpmSampleFree"});
  binder.optional(f.gpm_sample, {"nvmlGpmSampleGet"});
  binder.optional(f.gpm_metrics, {"nvmlGpmMetricsGet"});
}

// The loader's message says that the file is missing, not that it is unusable.
bool says_absent(std::string_view message) {
  return message.find("No such file or directory") != std::string_view::npos;
}

}  // namespace

void Library::Closer::operator()(void* handle) const {
  ::dlclose(handle);
}

Result<Library> Library::load(const std::vector<std::string>& names) {
  void* handle = nullptr;
  std::string found;
  std::string refusal;
  for (const std::string& name : names) {
    handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) {
      found = name;
      break;
    }
    const char* message = ::dlerror();
    if (message != nullptr && !says_absent(message) && refusal.empty()) {
      refusal = message;
    }
  }
  if (handle == nullptr && !refusal.empty()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("cannot load NVIDIA's management library: {}; reinstall the driver's "
                            "libraries for this architecture",
                            refusal));
  }
  if (handle == nullptr) {
    return fail(ErrorCode::Unsupported,
                fmt::format("no NVIDIA driver found: {} is missing; install the driver or, in a "
                            "container, enable the NVIDIA container runtime",
                            fmt::join(names, " or ")));
  }
  Library library(handle);
  Binder binder(handle);
  bind_identity(binder, library.functions_);
  bind_sensors(binder, library.functions_);
  if (!binder.missing().empty()) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("{} lacks the function {}: the driver is older than 450, or the file is "
                    "not NVIDIA's library",
                    found,
                    binder.missing()));
  }
  return library;
}

Error Library::failure(std::string_view what, Return code) const {
  switch (code) {
    case kGpuIsLost:
      return {
          ErrorCode::Internal,
          fmt::format("{}: the GPU is lost (fell off the bus or hangs); end its jobs, then reset "
                      "it (nvidia-smi --gpu-reset) or restart the machine",
                      what)};
    case kResetRequired:
      return {
          ErrorCode::Internal,
          fmt::format("{}: the GPU needs a reset; end its jobs, then run nvidia-smi --gpu-reset",
                      what)};
    case kDriverNotLoaded:
      return {ErrorCode::Unsupported,
              fmt::format("{}: the NVIDIA kernel module is not loaded; load it (modprobe nvidia)",
                          what)};
    case kLibraryDriverMismatch:
      return {
          ErrorCode::Unsupported,
          fmt::format("{}: the NVIDIA driver library and kernel module have different versions, "
                      "as after an upgrade; restart the machine",
                      what)};
    case kNoPermission:
      return {ErrorCode::Unsupported,
              fmt::format("{}: the driver denies this user access; check the permissions of "
                          "/dev/nvidia*",
                          what)};
    default:
      break;
  }
  const char* text = functions_.error_string != nullptr ? functions_.error_string(code) : nullptr;
  const auto kind = is_absence(code) ? ErrorCode::Unsupported : ErrorCode::Internal;
  return {
      kind,
      fmt::format(
          "{}: NVIDIA driver error: {} (code {})", what, text != nullptr ? text : "no text", code)};
}

bool is_absence(Return code) {
  return code == kNotSupported || code == kNoPermission || code == kFunctionNotFound ||
         code == kVersionMismatch;
}

}  // namespace carpool::gpu::nvml
