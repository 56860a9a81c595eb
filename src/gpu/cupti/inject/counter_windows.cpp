// Sampling windows of CounterSampler and the reading of their samples.
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "gpu/cupti/inject/counter_sampler.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

constexpr std::chrono::milliseconds kWindow{200};
constexpr std::chrono::milliseconds kStep{5};
constexpr std::uint64_t kIntervalNs = 1'000'000;
constexpr std::uint32_t kMaxSamples = 1024;  // of one window, with a margin
constexpr std::size_t kHardwareBytes = std::size_t{64} << 20U;

}  // namespace

bool CounterSampler::enable() {
  cupti::SamplingEnable enable;
  enable.device = device_;
  if (const cupti::Code code = functions_.enable(&enable); code != cupti::kSuccess) {
    refuse("cuptiPmSamplingEnable", code);
    return false;
  }
  sampling_ = enable.sampling;
  return true;
}

void CounterSampler::disable() {
  if (sampling_ != nullptr) {
    cupti::SamplingCall call;
    call.sampling = std::exchange(sampling_, nullptr);
    (void)functions_.disable(&call);
  }
}

// Enabled anew for each set: a second set on the same object would keep counting the first one's
// metrics (observed with CUPTI 13.0 on GH100).
bool CounterSampler::sample(std::uint32_t index) {
  if (index != enabled_for_) {
    disable();
  }
  if (sampling_ == nullptr && !enable()) {
    return false;
  }
  enabled_for_ = index;
  return sample_window(index);
}

bool CounterSampler::sample_window(std::uint32_t index) {
  Set& set = sets_[index];
  cupti::SamplingConfig config;
  config.sampling = sampling_;
  config.bytes = set.config.image().size();
  config.image = set.config.image().data();
  config.hardware_bytes = kHardwareBytes;
  config.interval = kIntervalNs;
  cupti::Code code = functions_.set_config(&config);
  if (code != cupti::kSuccess) {
    refuse("cuptiPmSamplingSetConfig", code);
    return false;
  }
  std::vector<std::uint8_t> image = counter_image(set, code);
  if (code != cupti::kSuccess) {
    refuse("make a counter data image", code);
    return false;
  }
  cupti::SamplingCall call;
  call.sampling = sampling_;
  const std::int64_t at = monotonic_ns();
  code = functions_.start(&call);
  if (code != cupti::kSuccess) {
    refuse("cuptiPmSamplingStart", code);
    return false;
  }
  pause();
  code = functions_.stop(&call);
  cupti::Decode decode;
  decode.sampling = sampling_;
  decode.image = image.data();
  decode.bytes = image.size();
  if (code == cupti::kSuccess) {
    code = functions_.decode(&decode);
  }
  if (code != cupti::kSuccess) {
    refuse("cuptiPmSamplingStop and cuptiPmSamplingDecodeData", code);
    return false;
  }
  write_samples(index, image, at);
  return true;
}

std::vector<std::uint8_t> CounterSampler::counter_image(Set& set, cupti::Code& code) {
  cupti::CounterDataSize size;
  size.sampling = sampling_;
  size.names = set.metrics.data();
  size.count = set.metrics.size();
  size.samples = kMaxSamples;
  code = functions_.data_size(&size);
  if (code != cupti::kSuccess) {
    return {};
  }
  std::vector<std::uint8_t> image(size.bytes);
  cupti::CounterDataInitialize initialize;
  initialize.sampling = sampling_;
  initialize.bytes = image.size();
  initialize.image = image.data();
  code = functions_.data_initialize(&initialize);
  return image;
}

void CounterSampler::write_samples(std::uint32_t index,
                                   const std::vector<std::uint8_t>& image,
                                   std::int64_t at) {
  Set& set = sets_[index];
  cupti::CounterDataInfo info;
  info.image = image.data();
  info.bytes = image.size();
  if (functions_.data_info(&info) != cupti::kSuccess) {
    return;
  }
  std::vector<format::CounterSample> samples;
  std::vector<double> values(set.metrics.size());
  std::optional<std::uint64_t> first_end;
  for (std::size_t i = 0; i < info.completed; ++i) {
    cupti::SampleInfo when;
    when.sampling = sampling_;
    when.image = image.data();
    when.bytes = image.size();
    when.index = i;
    cupti::Evaluate evaluate;
    evaluate.host = set.config.host();
    evaluate.image = image.data();
    evaluate.bytes = image.size();
    evaluate.index = i;
    evaluate.names = set.metrics.data();
    evaluate.count = set.metrics.size();
    evaluate.values = values.data();
    if (functions_.sample_info(&when) != cupti::kSuccess || when.end <= when.start ||
        functions_.evaluate(&evaluate) != cupti::kSuccess) {
      continue;
    }
    // Times of the GPU's own clock. The first sample ends one interval after sampling started; its
    // own start is the time at which the counters were last read.
    first_end = first_end.value_or(when.end);
    const std::int64_t end = at + static_cast<std::int64_t>(kIntervalNs) +
                             static_cast<std::int64_t>(when.end - *first_end);
    const std::int64_t start = end - static_cast<std::int64_t>(when.end - when.start);
    for (std::uint32_t metric = 0; metric < values.size(); ++metric) {
      if (std::isfinite(values[metric])) {
        samples.push_back({start, end, index, metric, values[metric]});
      }
    }
  }
  file_.counter_samples(samples);
}

void CounterSampler::pause() {
  const std::int64_t until =
      monotonic_ns() + std::chrono::duration_cast<std::chrono::nanoseconds>(kWindow).count();
  while (!stopping_ && monotonic_ns() < until) {
    pause_for(kStep);
  }
}

}  // namespace carpool::gpu::inject
