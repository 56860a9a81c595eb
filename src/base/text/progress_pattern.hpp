// Recognises the lines of a job's output that mark its progress (JobSpec::progress).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

// Values of JobSpec::progress that are no pattern.
inline constexpr std::string_view kNoProgress = "none";
inline constexpr std::string_view kStepFileProgress = "step-file";

// Whether this value of JobSpec::progress is a regular expression.
[[nodiscard]] bool is_progress_pattern(std::string_view progress);

class ProgressPattern {
 public:
  // InvalidInput where it is not a regular expression (ECMAScript), is long, or has counted
  // repetition or back-references: the server matches it, so its cost must be bounded.
  [[nodiscard]] static Result<ProgressPattern> make(const std::string& expression);

  ProgressPattern(ProgressPattern&&) noexcept;
  ProgressPattern& operator=(ProgressPattern&&) noexcept;
  ~ProgressPattern();

  static constexpr std::size_t kLongestLine = 256;
  // Looks at the first kLongestLine characters.
  [[nodiscard]] bool matches(std::string_view line) const;

 private:
  struct Expression;
  explicit ProgressPattern(std::unique_ptr<Expression> expression);

  std::unique_ptr<Expression> expression_;
};

}  // namespace carpool
