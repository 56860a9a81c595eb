// GPUs with processes, and the screen of `carpool top` as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"
#include "app/top/top_view.hpp"

namespace carpool::app {

inline constexpr std::uint64_t kTopGiB = std::uint64_t{1} << 30U;

inline GpuReading top_gpu(unsigned index, double sm_active) {
  GpuReading reading;
  reading.info.index = index;
  reading.info.name = "NVIDIA H200";
  reading.info.memory_bytes = 100 * kTopGiB;
  reading.info.power_limit_watts = 700.0;
  GpuSample& sample = reading.sample.emplace();
  sample.memory_used_bytes = 25 * kTopGiB;
  sample.gpu_utilisation = 0.9;
  sample.power_watts = 350.0;
  reading.activity.emplace().sm_active = sm_active;
  return reading;
}

inline NamedProcess top_process(std::int64_t pid, std::uint64_t gib) {
  NamedProcess named;
  named.process.pid = pid;
  named.process.memory_bytes = gib * kTopGiB;
  named.name = {.user = "ada", .command = "python train.py"};
  return named;
}

// GPU 0 is busier, GPU 1 has the larger processes.
inline TopModel two_top_gpus() {
  GpuReading first = top_gpu(0, 0.8);
  first.processes = {top_process(30, 1), top_process(20, 2)};
  GpuReading second = top_gpu(1, 0.1);
  second.processes = {top_process(10, 4)};
  TopModel model;
  show_reading(model, {first, second});
  return model;
}

inline std::vector<std::int64_t> top_pids(const TopModel& model) {
  std::vector<std::int64_t> found;
  for (const TopProcess& entry : sorted_processes(model)) {
    found.push_back(entry.entry.process.pid);
  }
  return found;
}

inline std::string top_text(const TopView& view) {
  std::string text;
  for (const Line& line : view.lines) {
    text += plain_text(line) + "\n";
  }
  return text;
}

inline bool top_holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace carpool::app
