// Reads an activity file (activity_format.hpp) into plain data.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu {

struct ActivityDevice {
  activity_format::Device facts;
  std::string uuid;  // "GPU-…", as NVML writes it
  std::string name;
};

struct ActivityKernel {
  activity_format::Kernel facts;
  std::string name;
};

struct ActivityRange {
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
};

struct ActivityNote {
  activity_format::NoteKind kind{};
  int code = 0;
  std::int64_t at_ns = 0;
  std::string text;
};

struct ActivityCounterSet {
  std::uint32_t device = 0;
  std::uint32_t passes = 0;
  std::vector<std::string> metrics;
};

// A time with recording. A window without an end record ends with the last record of the file.
struct ActivityWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Launches, memory operations, ranges and counter samples are sorted by start.
struct ActivityTrace {
  activity_format::FileStart start;
  std::string program;
  std::vector<ActivityDevice> devices;
  std::vector<ActivityKernel> kernels;  // kernels[launch.kernel]
  std::vector<activity_format::Launch> launches;
  std::vector<activity_format::MemoryOperation> memory_operations;
  std::vector<ActivityRange> ranges;
  std::vector<ActivityCounterSet> counter_sets;  // counter_sets[sample.set]
  std::vector<activity_format::CounterSample> counter_samples;
  std::vector<ActivityNote> notes;
  std::vector<ActivityWindow> windows;
  std::optional<activity_format::End> end;
  bool complete = false;  // ended normally; else the process was killed or still runs
};

// Reads a truncated file up to its last whole record, if it has one. Corrupt, with file and offset,
// for content that the library does not write.
[[nodiscard]] Result<ActivityTrace> read_activity(const std::filesystem::path& path);

// The same for the content of a file; `name` is used in errors.
[[nodiscard]] Result<ActivityTrace> parse_activity(std::string_view bytes, std::string_view name);

// The activity files of a folder, sorted by name.
[[nodiscard]] Result<std::vector<std::filesystem::path>> activity_files(
    const std::filesystem::path& folder);

}  // namespace carpool::gpu
