// The state of `carpool top` and the effect of keys on it. Plain data: no terminal, no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "app/top/gpu_watch.hpp"

namespace carpool::app {

enum class TopSort { Memory, Sm, Pid, Job };

enum class TopKey {
  Other,
  Up,
  Down,
  PageUp,
  PageDown,
  First,
  Last,
  ByMemory,
  BySm,
  ByPid,
  ByJob,
  Filter,
  Cancel,
  Enter,
  Escape,
  Erase,
  Quit
};

// A key that was pressed. Its character is what it types into the filter; 0: none.
struct TopInput {
  TopKey key = TopKey::Other;
  char character = '\0';
};

// How busy a GPU is: the SM counter, or the coarser utilisation if there is none.
struct Busy {
  std::optional<double> share;  // 0 to 1
  bool fine = false;            // from the SM counter
};
[[nodiscard]] Busy how_busy(const GpuReading& gpu);

// A process on a GPU, or a job of which no process is seen there; its pid is 0 then.
struct TopProcess {
  unsigned gpu = 0;
  NamedProcess entry;
  double gpu_busy = 0.0;
  std::optional<GpuJob> job{};  // of the server
};

// All rows of a GPU: its processes, then its jobs without one.
[[nodiscard]] std::vector<TopProcess> rows_of(const GpuReading& gpu);

// GPU, pid and job.
using TopRowKey = std::tuple<unsigned, std::int64_t, JobId>;
[[nodiscard]] TopRowKey key_of(const TopProcess& process);

// Whether user, command, pid, or id or name of the job contain the text, in any case.
[[nodiscard]] bool matches(const TopProcess& process, std::string_view text);

// Of a row, oldest first.
struct TopRowHistory {
  std::vector<double> memory{};     // as a share of that of its GPU
  std::vector<double> sm_active{};  // as far as the driver tells
};

struct TopModel {
  std::vector<GpuReading> gpus;
  std::vector<std::vector<double>> history;  // of how_busy, one list per GPU, oldest first
  TopSort sort = TopSort::Memory;
  std::size_t selected = 0;           // index into sorted_processes()
  std::string source;                 // "recording.jsonl"; empty: this machine
  std::string filter{};               // only rows that match it are shown
  bool typing = false;                // keys go into the filter
  std::optional<TopRowKey> detail{};  // the row that fills the screen
  std::optional<GpuJob> asking{};     // the job that the user is asked whether to cancel
  std::optional<JobId> to_cancel{};   // the user said yes; the caller cancels it
  std::string notice{};               // shown until the next key
  std::map<TopRowKey, TopRowHistory> rows{};
};

// "memory", "sm", "pid" or "job"; any other name sorts by memory.
[[nodiscard]] TopSort sort_named(std::string_view name);

// Replaces the readings and extends their history.
void show_reading(TopModel& model, std::vector<GpuReading> gpus);

// False if the key quits. `page` is the number of processes on the screen.
[[nodiscard]] bool press(TopModel& model, const TopInput& input, std::size_t page);

// The rows that match the filter: the largest memory, the highest SM activity, or the lowest job or
// pid first. Rows of which the driver does not tell the SM activity come after the others, those on
// the busiest GPU first. Ties are sorted by memory, pid and GPU.
[[nodiscard]] std::vector<TopProcess> sorted_processes(const TopModel& model);

}  // namespace carpool::app
