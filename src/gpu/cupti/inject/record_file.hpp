// This process's activity file, written in appends of whole records. Thread-safe.
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
  ~RecordFile() = default;  // the descriptor lives as long as the process

  // Makes activity.<pid>.bin in the folder, or activity.<pid>.<n>.bin where an earlier program of
  // this process has made that. False: there is nowhere to write, and nothing will be written.
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

  // Hands what has gathered to the system.
  void flush();

 private:
  void append(activity_format::RecordType type, std::string_view fixed, std::string_view text);
  void flush_locked();

  std::mutex mutex_;
  std::string gathered_;
  int fd_ = -1;  // -1: not open, or a write has failed
};

}  // namespace carpool::gpu::inject
