#include "gpu/nvml/gpm_span.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::gpu::nvml {
namespace {

constexpr double kNanosecond = 1e-9;

struct Wanted {
  GpmMetricId id;
  std::optional<double> GpuActivity::* field;
  bool ratio;  // percent → 0 to 1; else MiB/s → bytes/s
};

constexpr std::array kWanted{
    Wanted{GpmMetricId::GraphicsUtil, &GpuActivity::graphics_active, true},
    Wanted{GpmMetricId::SmUtil, &GpuActivity::sm_active, true},
    Wanted{GpmMetricId::SmOccupancy, &GpuActivity::sm_occupancy, true},
    Wanted{GpmMetricId::DramBandwidthUtil, &GpuActivity::dram_active, true},
    Wanted{GpmMetricId::AnyTensorUtil, &GpuActivity::tensor_active, true},
    Wanted{GpmMetricId::Fp64Util, &GpuActivity::fp64_active, true},
    Wanted{GpmMetricId::Fp32Util, &GpuActivity::fp32_active, true},
    Wanted{GpmMetricId::Fp16Util, &GpuActivity::fp16_active, true},
    Wanted{GpmMetricId::PcieRxPerSecond, &GpuActivity::pcie_read_bytes_per_second, false},
    Wanted{GpmMetricId::PcieTxPerSecond, &GpuActivity::pcie_write_bytes_per_second, false},
    Wanted{GpmMetricId::NvlinkRxPerSecond, &GpuActivity::nvlink_read_bytes_per_second, false},
    Wanted{GpmMetricId::NvlinkTxPerSecond, &GpuActivity::nvlink_write_bytes_per_second, false},
};

std::optional<double> value_of(const GpmMetric& metric, bool ratio) {
  if (metric.result != kSuccess || !std::isfinite(metric.value)) {
    return std::nullopt;
  }
  // Rounding of the counters may exceed 100 %.
  return ratio ? std::clamp(metric.value / 100.0, 0.0, 1.0)
               : std::max(metric.value, 0.0) * kBytesPerMiB;
}

// Fills in the values that the driver reports for the time between two samples.
Result<void> fill(const DeviceRef& gpu, GpmSample from, GpmSample to, GpuActivity& activity) {
  const auto request = std::make_unique<GpmMetricsGet>();
  request->from = from;
  request->to = to;
  request->count = kWanted.size();
  for (std::size_t i = 0; i < kWanted.size(); ++i) {
    request->metrics[i].id = kWanted[i].id;
  }
  const Return code = gpu.library->call().gpm_metrics(request.get());
  if (is_absence(code)) {
    return {};
  }
  if (code != kSuccess) {
    return tl::unexpected(
        gpu.library->failure(fmt::format("read the activity of GPU {}", gpu.index), code));
  }
  for (std::size_t i = 0; i < kWanted.size(); ++i) {
    activity.*kWanted[i].field = value_of(request->metrics[i], kWanted[i].ratio);
  }
  return {};
}

}  // namespace

bool gpm_supported(const DeviceRef& gpu) {
  const Functions& call = gpu.library->call();
  const bool complete = call.gpm_support != nullptr && call.gpm_alloc != nullptr &&
                        call.gpm_free != nullptr && call.gpm_sample != nullptr &&
                        call.gpm_metrics != nullptr;
  GpmSupport support;
  return complete && call.gpm_support(gpu.handle, &support) == kSuccess && support.supported != 0;
}

GpmSpan::GpmSpan(const DeviceRef& gpu) : gpu_(gpu), supported_(gpm_supported(gpu)) {}

Result<void> GpmSpan::begin() {
  began_ns_.reset();
  auto sample = take();
  if (!sample) {
    return tl::unexpected(std::move(sample.error()));
  }
  first_ = std::move(*sample);
  began_ns_ = monotonic_ns();
  return {};
}

Result<GpuActivity> GpmSpan::end() {
  const Sample before = std::move(first_);
  const std::int64_t began = began_ns();
  if (auto begun = begin(); !begun) {
    return tl::unexpected(std::move(begun.error()));
  }
  GpuActivity activity{.span_seconds = kNanosecond * static_cast<double>(began_ns() - began)};
  if (before != nullptr && first_ != nullptr) {
    if (auto filled = fill(gpu_, before.get(), first_.get(), activity); !filled) {
      return tl::unexpected(std::move(filled.error()));
    }
  }
  return activity;
}

Result<GpmSpan::Sample> GpmSpan::take() {
  if (!supported_) {
    return Sample{};
  }
  const Functions& call = gpu_.library->call();
  GpmSample raw = nullptr;
  Return code = call.gpm_alloc(&raw);
  Sample sample(raw, FreeGpmSample{&call});
  if (code == kSuccess) {
    code = call.gpm_sample(gpu_.handle, raw);
  }
  // For example in MIG mode, where the counters belong to the slices.
  if (is_absence(code)) {
    return Sample{};
  }
  if (code != kSuccess) {
    return tl::unexpected(
        gpu_.library->failure(fmt::format("read the counters of GPU {}", gpu_.index), code));
  }
  return sample;
}

}  // namespace carpool::gpu::nvml
