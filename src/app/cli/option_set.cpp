#include "app/cli/option_set.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace carpool::app {
namespace {

std::string unless(bool holds, const std::string& text, const std::string& expected) {
  return holds ? std::string() : fmt::format("\"{}\" is not {}", text, expected);
}

// The whole text is one number; infinity and NaN are not.
std::optional<double> finite_number(const std::string& text) {
  char* stopped = nullptr;
  const double value = std::strtod(text.c_str(), &stopped);
  const bool read = !text.empty() && *stopped == '\0' && std::isfinite(value);
  return read ? std::optional(value) : std::nullopt;
}

OptionCheck number_where(std::function<bool(double)> holds, std::string expected) {
  return [holds = std::move(holds), expected = std::move(expected)](const std::string& text) {
    const std::optional<double> value = finite_number(text);
    return unless(value && holds(*value), text, expected);
  };
}

}  // namespace

void OptionSet::flag(std::string name, bool& target, std::string description, OptionRules rules) {
  options_.push_back({.name = std::move(name),
                      .target = &target,
                      .value = {},
                      .description = std::move(description),
                      .rules = std::move(rules)});
}

void OptionSet::option(std::string name,
                       OptionTarget target,
                       std::string value,
                       std::string description,
                       OptionRules rules) {
  options_.push_back({.name = std::move(name),
                      .target = target,
                      .value = std::move(value),
                      .description = std::move(description),
                      .rules = std::move(rules)});
}

void OptionSet::positional(std::string name,
                           OptionTarget target,
                           std::string value,
                           std::string description,
                           OptionRules rules) {
  option(std::move(name), target, std::move(value), std::move(description), std::move(rules));
}

void OptionSet::program(std::string name,
                        std::vector<std::string>& before,
                        std::vector<std::string>& target,
                        std::string value,
                        std::string description) {
  positional(std::move(name), &target, std::move(value), std::move(description));
  before_separator_ = &before;
  behind_separator_ = &target;
}

// The library does not tell a word before "--" from one behind it.
void OptionSet::move_words_behind(std::size_t count) const {
  if (behind_separator_ == nullptr) {
    return;
  }
  std::vector<std::string> words = *before_separator_;
  words.insert(words.end(), behind_separator_->begin(), behind_separator_->end());
  const auto first = words.end() - static_cast<std::ptrdiff_t>(std::min(count, words.size()));
  before_separator_->assign(words.begin(), first);
  behind_separator_->assign(first, words.end());
}

// The command-line library wraps a negative count and saturates a huge one; both are mistakes.
OptionCheck whole_number() {
  return [](const std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data(), end, value);
    return unless(code == std::errc() && stopped == end, text, "a whole number");
  };
}

OptionCheck share_of_one() {
  return number_where([](double value) { return value >= 0.0 && value <= 1.0; },
                      "a number from 0 to 1");
}

OptionCheck confidence_level() {
  constexpr double kLeast = 0.5;
  constexpr double kMost = 0.999;
  return number_where([](double value) { return value >= kLeast && value <= kMost; },
                      fmt::format("a number from {} to {}", kLeast, kMost));
}

OptionCheck above_zero() {
  return number_where([](double value) { return value > 0.0; }, "a number above 0");
}

OptionCheck seconds_from(double least) {
  constexpr double kYear = 365.0 * 24.0 * 3600.0;
  return number_where([least](double value) { return value >= least && value <= kYear; },
                      fmt::format("a number of seconds, at least {}", least));
}

}  // namespace carpool::app
