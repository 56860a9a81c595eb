// Finds steps in the output of a program: lines that match a regular expression.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "profile/steps/step_estimate.hpp"

namespace carpool::profile {

// Used by one thread.
class OutputSteps {
 public:
  // A group in the expression is the step number; without one each matching line is a step.
  [[nodiscard]] static Result<OutputSteps> make(const std::string& expression);

  OutputSteps(OutputSteps&&) noexcept;
  OutputSteps& operator=(OutputSteps&&) noexcept;
  ~OutputSteps();

  enum class Stream : std::size_t { Output = 0, Error = 1 };

  // Adds output that was read at this time.
  void add(Stream stream, std::string_view text, std::int64_t at_ns);

  [[nodiscard]] std::optional<StepEstimate> within(const TimeWindow& window) const;

 private:
  struct Expression;
  explicit OutputSteps(std::unique_ptr<Expression> expression);
  void add_line(std::string_view line, std::int64_t at_ns);
  void add_mark(StepMark mark);

  std::unique_ptr<Expression> expression_;
  std::array<std::string, 2> unfinished_;  // unfinished line of each stream
  std::vector<StepMark> marks_;
};

// Reads what is appended to a file.
class FileTail {
 public:
  explicit FileTail(std::filesystem::path path) : path_(std::move(path)) {}
  // New content since the last call; empty if there is none or no such file yet.
  [[nodiscard]] std::string more();

 private:
  std::filesystem::path path_;
  std::uintmax_t read_ = 0;
};

}  // namespace carpool::profile
