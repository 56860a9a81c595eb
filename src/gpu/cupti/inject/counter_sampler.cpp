#include "gpu/cupti/inject/counter_sampler.hpp"

#include <utility>

#include "gpu/cupti/inject/metric_table.hpp"

namespace carpool::gpu::inject {

void CounterSampler::start(std::uint32_t device, bool probe, void (*loaded)()) {
  device_ = device;
  probe_ = probe;
  loaded_ = loaded;
  try {
    thread_ = std::thread([this] {
      try {
        run();
      } catch (...) {
        refuse("out of memory", 0);
      }
    });
  } catch (...) {  // the program must go on without the counters
    refuse("no thread", 0);
  }
}

void CounterSampler::stop() {
  stopping_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

void CounterSampler::run() {
  if (!prepare()) {
    return;
  }
  loaded_();
  bool going = sample(0);  // CUPTI loads more libraries when it evaluates the first set
  loaded_();
  while (going && !stopping_) {
    for (std::uint32_t index = 0; index < sets_.size() && going && !stopping_; ++index) {
      going = sample(index);
    }
  }
  disable();
}

bool CounterSampler::prepare() {
  const std::string missing = bind_profiler(cupti_, functions_);
  if (!missing.empty()) {
    refuse(joined({"this CUPTI has no function ", missing}), 0);
    return false;
  }
  cupti::ProfilerInitialize initialize;
  if (const cupti::Code code = functions_.initialize(&initialize); code != cupti::kSuccess) {
    refuse("cuptiProfilerInitialize", code);
    return false;
  }
  if (!supported()) {
    return false;
  }
  cupti::ChipName chip;
  chip.device = device_;
  if (const cupti::Code code = functions_.chip_name(&chip);
      code != cupti::kSuccess || chip.name == nullptr) {
    refuse("cuptiDeviceGetChipName", code);
    return false;
  }
  chip_ = chip.name;
  tell(joined({"the chip is ", chip_}));
  read_availability();
  make_sets();
  if (sets_.empty()) {
    refuse(joined({"no metric is available in one pass on the chip ", chip_}), 0);
    return false;
  }
  return true;
}

bool CounterSampler::supported() {
  cupti::DeviceSupported asked;
  asked.device = static_cast<int>(device_);
  const cupti::Code code = functions_.device_supported(&asked);
  const auto level = [](std::uint32_t value) { return std::to_string(value); };
  const std::string answer = joined({"cuptiProfilerDeviceSupported for PM sampling: supported ",
                                     level(asked.supported),
                                     ", architecture ",
                                     level(asked.architecture),
                                     ", SLI ",
                                     level(asked.sli),
                                     ", vGPU ",
                                     level(asked.vgpu),
                                     ", confidential computing ",
                                     level(asked.confidential),
                                     ", CMP ",
                                     level(asked.cmp),
                                     ", WSL ",
                                     level(asked.wsl),
                                     " (3: yes, 2: disabled, 1: no)"});
  if (code != cupti::kSuccess || asked.supported != cupti::kLevelSupported) {
    refuse(answer, code);
    return false;
  }
  tell(answer);
  return true;
}

// Without it CUPTI assumes that all counters of the chip are available.
void CounterSampler::read_availability() {
  cupti::CounterAvailability asked;
  asked.device = device_;
  cupti::Code code = functions_.availability(&asked);
  if (code == cupti::kSuccess) {
    availability_.resize(asked.bytes);
    asked.image = availability_.data();
    code = functions_.availability(&asked);
  }
  if (code != cupti::kSuccess) {
    availability_.clear();
    tell(joined({"cuptiPmSamplingGetCounterAvailability: ", code_text(cupti_.functions, code)}));
  }
}

void CounterSampler::make_sets() {
  const auto passes = [this](const std::vector<const char*>& metrics) {
    const auto config = MetricConfig::make(functions_, chip_, availability_, metrics);
    if (metrics.size() == 1) {
      tell(joined({metrics.front(),
                   config.code() == cupti::kSuccess
                       ? joined({": passes ", std::to_string(config.passes())})
                       : joined({": ", code_text(cupti_.functions, config.code())})}));
    }
    return config.passes();
  };
  for (std::vector<const char*>& metrics : pack_sets(passes)) {
    MetricConfig config = MetricConfig::make(functions_, chip_, availability_, metrics);
    std::string names;
    for (const char* name : metrics) {
      names.append(names.empty() ? "" : "\n").append(name);
    }
    file_.counter_set({static_cast<std::uint32_t>(sets_.size()),
                       device_,
                       static_cast<std::uint32_t>(metrics.size()),
                       static_cast<std::uint32_t>(config.passes())},
                      names);
    sets_.push_back({std::move(metrics), std::move(config)});
  }
}

void CounterSampler::refuse(std::string_view what, cupti::Code code) {
  const std::string why =
      code != 0 ? joined({": ", code_text(cupti_.functions, code)}) : std::string();
  file_.note(
      activity_format::NoteKind::CountersRefused, code, joined({"no counters: ", what, why}));
}

void CounterSampler::tell(std::string_view what) {
  if (probe_) {
    file_.note(activity_format::NoteKind::Information, 0, what);
  }
}

}  // namespace carpool::gpu::inject
