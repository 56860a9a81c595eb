// Errors and the activity of processes in the fake libnvidia-ml.so.1.
#include <string>
#include <vector>

#include "device.hpp"
#include "gpu/nvml/abi.hpp"
#include "settings.hpp"

using namespace carpool::gpu::nvml;  // NOLINT(google-build-using-namespace): the layouts are its
using fake_nvml::Settings;
using fake_nvml::told;
using fake_nvml::value;

struct carpool::gpu::nvml::OpaqueEventSet {
  unsigned gpu = 0;
  std::size_t delivered = 0;  // of the configured XIDs
};

// NOLINTBEGIN(readability-identifier-naming,misc-use-internal-linkage): the vendor's names
extern "C" {

Return nvmlDeviceGetTotalEccErrors(Device device,
                                   unsigned kind,
                                   unsigned,
                                   unsigned long long* count) {
  return value("nvmlDeviceGetTotalEccErrors",
               device,
               kind == kEccCorrected ? "ecc_corrected" : "ecc_uncorrected",
               0,
               count);
}

// "sm_of = 4711:35 …": PID and percent of the SMs' time. Each call reports the present values.
Return nvmlDeviceGetProcessUtilization(Device device,
                                       ProcessUtilization* out,
                                       unsigned* count,
                                       unsigned long long after_us) {
  const Settings settings = Settings::current();
  if (const Return code = told(settings, "nvmlDeviceGetProcessUtilization"); code != kSuccess) {
    return code;
  }
  const std::vector<std::string> words = settings.words_of(device->gpu, "sm_of");
  const auto room = *count;
  *count = static_cast<unsigned>(words.size());
  if (words.empty()) {
    return kNotFound;
  }
  if (words.size() > room) {
    return kInsufficientSize;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t colon = words[i].find(':');
    out[i] = {.pid = static_cast<unsigned>(std::stoul(words[i].substr(0, colon))),
              .time_stamp = after_us + 1,
              .sm = static_cast<unsigned>(std::stoul(words[i].substr(colon + 1)))};
  }
  return kSuccess;
}

#ifndef FAKE_NVML_OLD

// "xids = 31 79": these errors happen one after the other, each once for every set of events.
Return nvmlEventSetCreate(EventSet* events) {
  *events = new OpaqueEventSet;
  return told(Settings::current(), "nvmlEventSetCreate");
}

Return nvmlEventSetFree(EventSet events) {
  delete events;
  return kSuccess;
}

Return nvmlDeviceRegisterEvents(Device device, unsigned long long, EventSet events) {
  events->gpu = device->gpu;
  return told(Settings::current(), "nvmlDeviceRegisterEvents");
}

Return nvmlEventSetWait_v2(EventSet events, EventData* out, unsigned) {
  const Settings settings = Settings::current();
  const std::vector<std::string> xids = settings.words_of(events->gpu, "xids");
  if (events->delivered >= xids.size()) {
    return kTimeout;
  }
  *out = {.device = fake_nvml::whole_gpu(events->gpu),
          .type = kEventXid,
          .data = std::stoull(xids[events->delivered++])};
  return told(settings, "nvmlEventSetWait_v2");
}

#endif
}
// NOLINTEND(readability-identifier-naming,misc-use-internal-linkage)
