// The journal of a campaign: one line of JSON per measurement, synced before the next one starts.
// All tables are made from it, and an interrupted run resumes from it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/result.hpp"

namespace carpool::measure {

inline constexpr const char* kJournalName = "measurements.jsonl";

// The origin of the measurements. A folder holds those of one GPU model and driver.
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

// Used by one thread at a time. The file is locked against a second campaign.
class Journal {
 public:
  // Creates the file with its header, or reads it and continues after its last whole line: a killed
  // run may have left part of a line.
  [[nodiscard]] static Result<Journal> open(const std::filesystem::path& path,
                                            const JournalOrigin& origin);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  [[nodiscard]] const std::vector<Measurement>& measurements() const {
    return content_.measurements;
  }
  [[nodiscard]] const JournalOrigin& origin() const { return content_.origin; }

  // Synced to disk on return.
  [[nodiscard]] Result<void> append(Measurement measurement);

 private:
  Journal(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}
  [[nodiscard]] Result<void> write_line(std::string line);

  int file_ = -1;
  std::filesystem::path path_;
  JournalContent content_;
};

}  // namespace carpool::measure
