// The small file beside the journal: which journal belongs here, and how far it was written. With
// it a journal that is missing, exchanged, older, or cut off is noticed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool::store {

struct JournalMarker {
  std::string identity{};   // 32 hexadecimal digits
  std::int64_t events = 0;  // sequence of the last event that was made durable
  JobId job = 0;            // highest number that was given
};

// 128 random bits as hexadecimal digits.
[[nodiscard]] std::string new_identity();

// Empty: there is no such file. Corrupt: it is damaged.
[[nodiscard]] Result<std::optional<JournalMarker>> read_marker(const std::filesystem::path& state);

// After a power failure the file may be behind by numbers of one block, never by more: a number
// beyond it was not given.
inline constexpr JobId kNumbersPerBlock = 1000;
[[nodiscard]] constexpr JobId beyond_block(JobId job) {
  return (job / kNumbersPerBlock + 1) * kNumbersPerBlock;
}

class MarkerFile {
 public:
  MarkerFile() = default;
  // Writes the file and waits until it is durable.
  [[nodiscard]] static Result<MarkerFile> create(const std::filesystem::path& state,
                                                 const JournalMarker& marker);

  // To be called before events with jobs up to `job` are made durable: waits for the disk when
  // `job` begins another block.
  [[nodiscard]] Result<void> before(JobId job);
  // To be called after it. Does not wait for the disk: the file is never ahead of the journal.
  void after(std::int64_t events, JobId job);

 private:
  [[nodiscard]] bool write() const;

  Descriptor file_;
  JournalMarker marker_;
  std::filesystem::path path_;
};

}  // namespace carpool::store
