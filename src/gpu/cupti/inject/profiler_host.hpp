// The functions of CUPTI's PM sampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cupti/inject/vendor_library.hpp"
#include "gpu/cupti/profiler_abi.hpp"

namespace carpool::gpu::inject {

struct ProfilerFunctions {
  cupti::Code (*initialize)(cupti::ProfilerInitialize*) = nullptr;
  cupti::Code (*device_supported)(cupti::DeviceSupported*) = nullptr;
  cupti::Code (*chip_name)(cupti::ChipName*) = nullptr;
  cupti::Code (*host_initialize)(cupti::HostInitialize*) = nullptr;
  cupti::Code (*host_deinitialize)(cupti::HostDeinitialize*) = nullptr;
  cupti::Code (*add_metrics)(cupti::AddMetrics*) = nullptr;
  cupti::Code (*config_image_size)(cupti::ConfigImageSize*) = nullptr;
  cupti::Code (*config_image)(cupti::ConfigImage*) = nullptr;
  cupti::Code (*pass_count)(cupti::PassCount*) = nullptr;
  cupti::Code (*evaluate)(cupti::Evaluate*) = nullptr;
  cupti::Code (*availability)(cupti::CounterAvailability*) = nullptr;
  cupti::Code (*enable)(cupti::SamplingEnable*) = nullptr;
  cupti::Code (*disable)(cupti::SamplingCall*) = nullptr;
  cupti::Code (*set_config)(cupti::SamplingConfig*) = nullptr;
  cupti::Code (*start)(cupti::SamplingCall*) = nullptr;
  cupti::Code (*stop)(cupti::SamplingCall*) = nullptr;
  cupti::Code (*decode)(cupti::Decode*) = nullptr;
  cupti::Code (*data_size)(cupti::CounterDataSize*) = nullptr;
  cupti::Code (*data_initialize)(cupti::CounterDataInitialize*) = nullptr;
  cupti::Code (*data_info)(cupti::CounterDataInfo*) = nullptr;
  cupti::Code (*sample_info)(cupti::SampleInfo*) = nullptr;
};

// Fills in the functions and loads the libraries that CUPTI needs. Returns the name of the first
// missing function; empty if all exist.
[[nodiscard]] std::string bind_profiler(const Cupti& cupti, ProfilerFunctions& functions);

struct HostCloser {
  const ProfilerFunctions* functions = nullptr;
  void operator()(cupti::HostObject host) const;
};

// The hardware configuration for metrics of one chip.
class MetricConfig {
 public:
  // On failure `code` is set and `passes` is 0.
  static MetricConfig make(const ProfilerFunctions& functions,
                           const std::string& chip,
                           const std::vector<std::uint8_t>& availability,
                           const std::vector<const char*>& metrics);

  [[nodiscard]] cupti::Code code() const { return code_; }
  [[nodiscard]] std::size_t passes() const { return passes_; }
  [[nodiscard]] std::vector<std::uint8_t>& image() { return image_; }
  [[nodiscard]] cupti::HostObject host() const { return host_.get(); }

 private:
  std::unique_ptr<cupti::OpaqueHostObject, HostCloser> host_;
  std::vector<std::uint8_t> image_;
  cupti::Code code_ = cupti::kSuccess;
  std::size_t passes_ = 0;
};

}  // namespace carpool::gpu::inject
