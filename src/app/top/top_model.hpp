// The state of `carpool top` and the effect of keys on it. Plain data: no terminal, no GPU.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/top/gpu_watch.hpp"

namespace carpool::app {

enum class TopSort { Memory, Sm, Pid };

enum class TopKey { Other, Up, Down, PageUp, PageDown, First, Last, ByMemory, BySm, ByPid, Quit };

// How busy a GPU is: the SM counter, or the coarser utilisation if there is none.
struct Busy {
  std::optional<double> share;  // 0 to 1
  bool fine = false;            // from the SM counter
};
[[nodiscard]] Busy how_busy(const GpuReading& gpu);

struct TopProcess {
  unsigned gpu = 0;
  NamedProcess entry;
  double gpu_busy = 0.0;
};

struct TopModel {
  std::vector<GpuReading> gpus;
  std::vector<std::vector<double>> history;  // of how_busy, one list per GPU, oldest first
  TopSort sort = TopSort::Memory;
  std::size_t selected = 0;  // index into sorted_processes()
  std::string source;        // "recording.jsonl"; empty: this machine
};

// "memory", "sm" or "pid"; any other name sorts by memory.
[[nodiscard]] TopSort sort_named(std::string_view name);

// Replaces the readings and extends their history.
void show_reading(TopModel& model, std::vector<GpuReading> gpus);

// False if the key quits. `page` is the number of processes on the screen.
[[nodiscard]] bool press(TopModel& model, TopKey key, std::size_t page);

// Sorted by memory or by how busy the GPU is, largest first. The SM use of a single process is not
// known, so processes on one GPU are sorted by memory. Ties are sorted by pid and GPU.
[[nodiscard]] std::vector<TopProcess> sorted_processes(const TopModel& model);

}  // namespace carpool::app
