// The activity file of this process; each append writes whole records. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu::inject {

class RecordFile {
 public:
  RecordFile() = default;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile() = default;  // the descriptor stays open until the process ends

  // Creates activity.<pid>.bin in the folder, or activity.<pid>.<n>.bin if an earlier program of
  // this process has created that. False if the file cannot be written.
  [[nodiscard]] bool open(const std::string& folder, std::uint32_t cupti_version);

  void device(const activity_format::Device& device, std::string_view name);
  void kernel(const activity_format::Kernel& kernel, std::string_view name);
  void launches(std::span<const activity_format::Launch> launches);
  void memory_operations(std::span<const activity_format::MemoryOperation> operations);
  void range(const activity_format::Range& range, std::string_view name);
  void counter_set(const activity_format::CounterSet& set, std::string_view names);
  void counter_samples(std::span<const activity_format::CounterSample> samples);
  void note(activity_format::NoteKind kind, int code, std::string_view text);
  void window(bool recording, std::int64_t at_ns);
  void end(const activity_format::End& end);

  // Writes the gathered records.
  void flush();

 private:
  void append(activity_format::RecordType type, std::string_view fixed, std::string_view text);
  void flush_locked();

  std::mutex mutex_;
  std::string gathered_;
  int fd_ = -1;  // -1: not open, or a write has failed
};

}  // namespace carpool::gpu::inject
