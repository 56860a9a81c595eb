// Parses the records of an activity file into a trace. Internal to gpu/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/cupti/activity_format.hpp"
#include "gpu/cupti/activity_reader.hpp"

namespace carpool::gpu {

// For one file. The trace must outlive it and is invalid after an error.
class ActivityParser {
 public:
  explicit ActivityParser(ActivityTrace& trace) : trace_(trace) {}

  // Returns what is wrong with the file; empty if nothing is.
  [[nodiscard]] std::string take(activity_format::RecordType type, std::string_view payload);

  // Sorts the records and closes an open window.
  void finish();

 private:
  [[nodiscard]] std::string dispatch(activity_format::RecordType type, std::string_view payload);
  [[nodiscard]] std::string file_start(std::string_view payload);
  [[nodiscard]] std::string device(std::string_view payload);
  [[nodiscard]] std::string kernel(std::string_view payload);
  [[nodiscard]] std::string range(std::string_view payload);
  [[nodiscard]] std::string counter_set(std::string_view payload);
  [[nodiscard]] std::string note(std::string_view payload);
  [[nodiscard]] std::string window(std::string_view payload);
  [[nodiscard]] std::string end(std::string_view payload);

  // Whether these are valid times; extends the end of the file to them.
  [[nodiscard]] bool spans(std::int64_t start, std::int64_t duration);

  ActivityTrace& trace_;
  bool first_ = true;
  bool recording_ = false;
  std::int64_t latest_ = 0;
};

}  // namespace carpool::gpu
