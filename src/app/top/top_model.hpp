// What `carpool top` shows, and what a key changes about it. Plain data: no terminal, no GPU.
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

// How busy a GPU is: its SMs' own counter, or the coarser utilisation where there is none.
struct Busy {
  std::optional<double> share;  // 0 to 1
  bool fine = false;            // the SMs' own
};
[[nodiscard]] Busy how_busy(const GpuReading& gpu);

struct TopProcess {
  unsigned gpu = 0;
  NamedProcess entry;
  double gpu_busy = 0.0;
};

struct TopModel {
  std::vector<GpuReading> gpus;
  std::vector<std::vector<double>> history;  // of how_busy, one list a GPU, oldest first
  TopSort sort = TopSort::Memory;
  std::size_t selected = 0;  // a place in sorted_processes()
  std::string source;        // "recording.jsonl"; empty: this machine
};

// "memory", "sm" or "pid"; by memory for anything else.
[[nodiscard]] TopSort sort_named(std::string_view name);

// Takes the place of the readings before, and goes on with their history.
void show_reading(TopModel& model, std::vector<GpuReading> gpus);

// False when the key asks to quit. `page` is how many processes the screen shows.
[[nodiscard]] bool press(TopModel& model, TopKey key, std::size_t page);

// By memory and by how busy the GPU is: the most first. Nobody knows how much of a GPU's SMs one of
// its processes uses, so those on one GPU go by memory. Ties go by pid and GPU.
[[nodiscard]] std::vector<TopProcess> sorted_processes(const TopModel& model);

}  // namespace carpool::app
