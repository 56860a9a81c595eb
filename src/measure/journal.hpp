// The journal of a campaign: one line of JSON a measurement, synced before the next one begins. All
// tables are made from it, and a run that was interrupted goes on from it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/result.hpp"

namespace carpool::measure {

inline constexpr const char* kJournalName = "measurements.jsonl";

// Where measurements come from. Those of another GPU or driver do not belong into the same folder.
struct JournalOrigin {
  std::string plan;
  std::string gpu;
  std::string driver;
  std::string throughput_unit;
};

struct JournalContent {
  JournalOrigin origin;
  std::vector<Measurement> measurements;
};

[[nodiscard]] Result<JournalContent> parse_journal(std::string_view text, const std::string& file);

// Used by one thread at a time; the file is locked against a second campaign.
class Journal {
 public:
  // Makes the file with its first line, or reads it and goes on after its last whole line: a line
  // without an end is what a killed run was about to write.
  [[nodiscard]] static Result<Journal> open(const std::filesystem::path& path,
                                            const JournalOrigin& origin);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  [[nodiscard]] const std::vector<Measurement>& measurements() const {
    return content_.measurements;
  }
  [[nodiscard]] const JournalOrigin& origin() const { return content_.origin; }

  // On disk when it returns.
  [[nodiscard]] Result<void> append(Measurement measurement);

 private:
  Journal(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}
  [[nodiscard]] Result<void> write_line(std::string line);

  int file_ = -1;
  std::filesystem::path path_;
  JournalContent content_;
};

}  // namespace carpool::measure
