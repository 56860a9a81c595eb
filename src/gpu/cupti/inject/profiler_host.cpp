#include "gpu/cupti/inject/profiler_host.hpp"

#include <dlfcn.h>

namespace carpool::gpu::inject {
namespace {

// CUPTI opens these by their bare names, which the loader finds only in its default folders.
void load_siblings(const std::string& cupti_path) {
  const std::size_t slash = cupti_path.rfind('/');
  if (slash == std::string::npos) {
    return;
  }
  const std::string folder = cupti_path.substr(0, slash + 1);
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"}) {
    (void)::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

}  // namespace

std::string bind_profiler(const Cupti& cupti, ProfilerFunctions& functions) {
  load_siblings(cupti.path);
  std::string missing;
  const auto bind = [&](auto& slot, const char* name) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(::dlsym(cupti.handle, name));
    if (slot == nullptr && missing.empty()) {
      missing = name;
    }
  };
  bind(functions.initialize, "cuptiProfilerInitialize");
  bind(functions.device_supported, "cuptiProfilerDeviceSupported");
  bind(functions.chip_name, "cuptiDeviceGetChipName");
  bind(functions.host_initialize, "cuptiProfilerHostInitialize");
  bind(functions.host_deinitialize, "cuptiProfilerHostDeinitialize");
  bind(functions.add_metrics, "cuptiProfilerHostConfigAddMetrics");
  bind(functions.config_image_size, "cuptiProfilerHostGetConfigImageSize");
  bind(functions.config_image, "cuptiProfilerHostGetConfigImage");
  bind(functions.pass_count, "cuptiProfilerHostGetNumOfPasses");
  bind(functions.evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  bind(functions.availability, "cuptiPmSamplingGetCounterAvailability");
  bind(functions.enable, "cuptiPmSamplingEnable");
  bind(functions.disable, "cuptiPmSamplingDisable");
  bind(functions.set_config, "cuptiPmSamplingSetConfig");
  bind(functions.start, "cuptiPmSamplingStart");
  bind(functions.stop, "cuptiPmSamplingStop");
  bind(functions.decode, "cuptiPmSamplingDecodeData");
  bind(functions.data_size, "cuptiPmSamplingGetCounterDataSize");
  bind(functions.data_initialize, "cuptiPmSamplingCounterDataImageInitialize");
  bind(functions.data_info, "cuptiPmSamplingGetCounterDataInfo");
  bind(functions.sample_info, "cuptiPmSamplingCounterDataGetSampleInfo");
  return missing;
}

void HostCloser::operator()(cupti::HostObject host) const {
  cupti::HostDeinitialize params;
  params.host = host;
  (void)functions->host_deinitialize(&params);
}

MetricConfig MetricConfig::make(const ProfilerFunctions& functions,
                                const std::string& chip,
                                const std::vector<std::uint8_t>& availability,
                                const std::vector<const char*>& metrics) {
  MetricConfig made;
  cupti::HostInitialize host;
  host.chip = chip.c_str();
  host.availability = availability.empty() ? nullptr : availability.data();
  made.code_ = functions.host_initialize(&host);
  if (made.code_ != cupti::kSuccess) {
    return made;
  }
  made.host_ = {host.host, HostCloser{&functions}};

  std::vector<const char*> names = metrics;
  cupti::AddMetrics add;
  add.host = host.host;
  add.names = names.data();
  add.count = names.size();
  cupti::ConfigImageSize size;
  size.host = host.host;
  made.code_ = functions.add_metrics(&add);
  if (made.code_ == cupti::kSuccess) {
    made.code_ = functions.config_image_size(&size);
  }
  if (made.code_ != cupti::kSuccess) {
    return made;
  }
  made.image_.resize(size.bytes);
  cupti::ConfigImage image;
  image.host = host.host;
  image.bytes = made.image_.size();
  image.image = made.image_.data();
  cupti::PassCount count;
  count.bytes = made.image_.size();
  count.image = made.image_.data();
  made.code_ = functions.config_image(&image);
  if (made.code_ == cupti::kSuccess) {
    made.code_ = functions.pass_count(&count);
  }
  made.passes_ = made.code_ == cupti::kSuccess ? count.passes : 0;
  return made;
}

}  // namespace carpool::gpu::inject
