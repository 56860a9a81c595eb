// Counts the lines of a job's output that match its pattern.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/progress_pattern.hpp"
#include "observe/progress_rate.hpp"

namespace carpool::observe {

// Reads a bounded part of each file at a time. What is written faster is skipped, and the count
// begins anew.
class OutputCount {
 public:
  OutputCount(ProgressPattern pattern, const std::vector<std::filesystem::path>& files);

  // Empty: no line matched yet, or matching takes too long and was given up.
  [[nodiscard]] std::optional<CountSeen> read(double now_s);

 private:
  struct File {
    std::filesystem::path path;
    std::uintmax_t read = 0;
    std::string unfinished{};
  };
  void read_file(File& file, double now_s);
  void add(File& file, std::string_view text, double now_s);

  ProgressPattern pattern_;
  std::vector<File> files_;
  CountSeen seen_;
  bool given_up_ = false;
};

}  // namespace carpool::observe
