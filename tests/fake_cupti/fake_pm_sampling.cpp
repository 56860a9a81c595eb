// PM sampling of the fake CUPTI: a chip with at most eight metrics per pass and one TriageCompute
// metric. A window has ten samples of a millisecond; metric i of sample n is i + n / 10. An object
// accepts one configuration; the real one accepts more and ignores them.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "gpu/cupti/profiler_abi.hpp"

namespace carpool::gpu::cupti {
namespace {

constexpr std::size_t kPerPass = 8;
constexpr std::size_t kSamples = 10;
constexpr std::uint64_t kGpuClock = 5'000'000'000;
constexpr std::uint64_t kInterval = 1'000'000;

int refusal() {
  const char* value = std::getenv("FAKE_CUPTI_NO_COUNTERS");
  return value != nullptr ? std::atoi(value) : kSuccess;
}

}  // namespace

// The objects behind the handles.
struct OpaqueHostObject {
  std::size_t metrics = 0;
};
struct OpaqueSamplingObject {
  std::uint64_t metrics = 0;  // of its configuration
  bool running = false;
};

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

Code cuptiProfilerInitialize(ProfilerInitialize* params) {
  return params->size == 16 ? kSuccess : kInvalidParameter;
}

Code cuptiProfilerDeviceSupported(DeviceSupported* params) {
  params->supported = params->api == kApiPmSampling ? kLevelSupported : 1;
  return kSuccess;
}

Code cuptiDeviceGetChipName(ChipName* params) {
  params->name = "GH100";
  return kSuccess;
}

Code cuptiProfilerHostInitialize(HostInitialize* params) {
  if (std::string_view(params->chip) != "GH100" || params->availability == nullptr) {
    return kInvalidParameter;
  }
  params->host = new OpaqueHostObject;
  return kSuccess;
}

Code cuptiProfilerHostDeinitialize(HostDeinitialize* params) {
  delete params->host;
  return kSuccess;
}

Code cuptiProfilerHostConfigAddMetrics(AddMetrics* params) {
  for (std::size_t i = 0; i < params->count; ++i) {
    const std::string_view name = params->names[i];
    const bool known = name.find("Triage") == std::string_view::npos || name.starts_with("Triage");
    if (!known || name.starts_with("l1tex")) {
      return kInvalidParameter;
    }
  }
  params->host->metrics = params->count;
  return kSuccess;
}

Code cuptiProfilerHostGetConfigImageSize(ConfigImageSize* params) {
  params->bytes = 8;
  return kSuccess;
}

Code cuptiProfilerHostGetConfigImage(ConfigImage* params) {
  const std::uint64_t metrics = params->host->metrics;
  std::memcpy(params->image, &metrics, sizeof(metrics));
  return kSuccess;
}

Code cuptiProfilerHostGetNumOfPasses(PassCount* params) {
  std::uint64_t metrics = 0;
  std::memcpy(&metrics, params->image, sizeof(metrics));
  params->passes = (metrics + kPerPass - 1) / kPerPass;
  return kSuccess;
}

Code cuptiProfilerHostEvaluateToGpuValues(Evaluate* params) {
  for (std::size_t i = 0; i < params->count; ++i) {
    params->values[i] = static_cast<double>(i) + static_cast<double>(params->index) / 10.0;
  }
  return kSuccess;
}

Code cuptiPmSamplingGetCounterAvailability(CounterAvailability* params) {
  params->bytes = 16;
  return kSuccess;
}

Code cuptiPmSamplingEnable(SamplingEnable* params) {
  if (refusal() == kSuccess) {
    params->sampling = new OpaqueSamplingObject;
  }
  return refusal();
}

Code cuptiPmSamplingDisable(SamplingCall* params) {
  delete params->sampling;
  return kSuccess;
}

Code cuptiPmSamplingSetConfig(SamplingConfig* params) {
  std::uint64_t metrics = 0;
  std::memcpy(&metrics, params->image, sizeof(metrics));
  OpaqueSamplingObject& object = *params->sampling;
  const bool other = object.metrics != 0 && object.metrics != metrics;
  object.metrics = metrics;
  return metrics <= kPerPass && !other && !object.running ? kSuccess : kNotSupported;
}

Code cuptiPmSamplingStart(SamplingCall* params) {
  params->sampling->running = true;
  return kSuccess;
}

Code cuptiPmSamplingStop(SamplingCall* params) {
  params->sampling->running = false;
  return kSuccess;
}

Code cuptiPmSamplingDecodeData(Decode* params) {
  return params->size == 45 && params->bytes == 64 ? kSuccess : kInvalidParameter;
}

Code cuptiPmSamplingGetCounterDataSize(CounterDataSize* params) {
  params->bytes = 64;
  return kSuccess;
}

Code cuptiPmSamplingCounterDataImageInitialize(CounterDataInitialize* params) {
  return params->image != nullptr ? kSuccess : kInvalidParameter;
}

Code cuptiPmSamplingGetCounterDataInfo(CounterDataInfo* params) {
  params->total = params->populated = params->completed = kSamples;
  return kSuccess;
}

Code cuptiPmSamplingCounterDataGetSampleInfo(SampleInfo* params) {
  params->start = kGpuClock + params->index * kInterval;
  params->end = params->start + kInterval;
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
}  // namespace carpool::gpu::cupti
