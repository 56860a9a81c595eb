// NVIDIA's management library (NVML), loaded at run time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/nvml/abi.hpp"

namespace carpool::gpu::nvml {

// Functions of the library; null if the driver lacks an optional one.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;

  Return (*device_count)(unsigned*) = nullptr;
  Return (*device_by_index)(unsigned, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*compute_capability)(Device, int*, int*) = nullptr;
  Return (*compute_mode)(Device, unsigned*) = nullptr;
  Return (*power_limit)(Device, unsigned*) = nullptr;

  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*mig_slots)(Device, unsigned*) = nullptr;
  Return (*mig_by_index)(Device, unsigned, Device*) = nullptr;

  Return (*memory)(Device, Memory*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*energy)(Device, unsigned long long*) = nullptr;
  Return (*clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Return (*clock_reasons)(Device, unsigned long long*) = nullptr;

  Return (*compute_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*mps_processes)(Device, unsigned*, ProcessInfo*) = nullptr;

  Return (*process_utilization)(Device,
                                ProcessUtilization*,
                                unsigned*,
                                unsigned long long) = nullptr;

  Return (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  Return (*event_set_wait)(EventSet, EventData*, unsigned) = nullptr;

  Return (*gpm_support)(Device, GpmSupport*) = nullptr;
  Return (*gpm_alloc)(GpmSample*) = nullptr;
  Return (*gpm_free)(GpmSample) = nullptr;
  Return (*gpm_sample)(Device, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetricsGet*) = nullptr;
};

// Owns the loaded library. Loading does not call it.
class Library {
 public:
  // Loads the first of these names that the loader finds. Unsupported if there is none or if the
  // library lacks an essential function, which the message names.
  [[nodiscard]] static Result<Library> load(const std::vector<std::string>& names);

  [[nodiscard]] const Functions& call() const { return functions_; }

  // The error of a call that returned `code`; `what` is the action ("read the power of GPU 0").
  [[nodiscard]] Error failure(std::string_view what, Return code) const;

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  explicit Library(void* handle) : handle_(handle) {}

  std::unique_ptr<void, Closer> handle_;
  Functions functions_;
};

// The GPU or driver does not provide the value, which is not an error: the value is absent.
[[nodiscard]] bool is_absence(Return code);

}  // namespace carpool::gpu::nvml
