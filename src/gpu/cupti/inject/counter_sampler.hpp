// Samples hardware counters of a device by CUPTI's PM sampling: one set of metrics after the other,
// each for a short window, on its own thread. The counters cover all users of the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/cupti/inject/profiler_host.hpp"
#include "gpu/cupti/inject/record_file.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {

class CounterSampler {
 public:
  // Both outlive it.
  CounterSampler(const Cupti& cupti, RecordFile& file) : cupti_(cupti), file_(file) {}
  CounterSampler(const CounterSampler&) = delete;
  CounterSampler& operator=(const CounterSampler&) = delete;
  ~CounterSampler() { stop(); }

  // Only after the program's cuInit has returned. With `probe` each finding becomes a note.
  // `loaded` is called whenever CUPTI may have loaded a library.
  void start(std::uint32_t device, bool probe, void (*loaded)());
  [[nodiscard]] bool started() const { return thread_.joinable(); }
  void stop();

 private:
  struct Set {
    std::vector<const char*> metrics;
    MetricConfig config;
  };
  void run();
  [[nodiscard]] bool prepare();
  [[nodiscard]] bool supported();
  void read_availability();
  void make_sets();
  [[nodiscard]] bool enable();
  void disable();
  [[nodiscard]] bool sample(std::uint32_t index);
  [[nodiscard]] bool sample_window(std::uint32_t index);
  [[nodiscard]] std::vector<std::uint8_t> counter_image(Set& set, cupti::Code& code);
  void write_samples(std::uint32_t index, const std::vector<std::uint8_t>& image, std::int64_t at);
  void pause();
  void refuse(std::string_view what, cupti::Code code);
  void tell(std::string_view what);

  const Cupti& cupti_;
  RecordFile& file_;
  ProfilerFunctions functions_;
  std::uint32_t device_ = 0;
  bool probe_ = false;
  void (*loaded_)() = nullptr;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::vector<Set> sets_;
  cupti::SamplingObject sampling_ = nullptr;
  std::uint32_t enabled_for_ = 0;  // the set that the object counts
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace carpool::gpu::inject
