#include "base/text/progress_pattern.hpp"

#include <regex>
#include <utility>

#include <fmt/format.h>

namespace carpool {
namespace {

constexpr std::size_t kLongestPattern = 128;

}  // namespace

struct ProgressPattern::Expression {
  std::regex regex;
};

bool is_progress_pattern(std::string_view progress) {
  return !progress.empty() && progress != kNoProgress && progress != kStepFileProgress;
}

ProgressPattern::ProgressPattern(std::unique_ptr<Expression> expression)
    : expression_(std::move(expression)) {}
ProgressPattern::ProgressPattern(ProgressPattern&&) noexcept = default;
ProgressPattern& ProgressPattern::operator=(ProgressPattern&&) noexcept = default;
ProgressPattern::~ProgressPattern() = default;

Result<ProgressPattern> ProgressPattern::make(const std::string& expression) {
  if (expression.size() > kLongestPattern) {
    return invalid_input(
        fmt::format("progress: the expression has {} characters, at most {} are allowed",
                    expression.size(),
                    kLongestPattern));
  }
  if (expression.find('{') != std::string::npos) {
    return invalid_input(
        fmt::format("progress: \"{}\" has a counted repetition, which is not allowed; write [{{] "
                    "for the character itself",
                    expression));
  }
  try {
    // The polynomial matcher takes time for states times characters and refuses back-references;
    // the usual one takes exponential time for some expressions.
    return ProgressPattern(std::make_unique<Expression>(Expression{
        std::regex(expression, std::regex::ECMAScript | std::regex_constants::__polynomial)}));
  } catch (const std::regex_error& problem) {
    return invalid_input(fmt::format(
        "progress: \"{}\" is not a regular expression (ECMAScript, without back-references): {}",
        expression,
        problem.what()));
  }
}

bool ProgressPattern::matches(std::string_view line) const {
  line = line.substr(0, kLongestLine);
  try {
    return std::regex_search(line.begin(), line.end(), expression_->regex);
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace carpool
