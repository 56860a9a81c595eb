#include "app/cli/option_set.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "base/text/memory_size.hpp"
#include "serve/units.hpp"

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

// Why a text is not a number of this kind; the library only says that it could not convert it.
template <class Number>
std::string not_a(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range) {
    return fmt::format("{} is not between {} and {}",
                       text,
                       std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::max());
  }
  return code == std::errc() && stopped == end ? std::string()
                                               : fmt::format("\"{}\" is not a whole number", text);
}

std::string not_a_number(const std::string& text) {
  char* stopped = nullptr;
  std::strtod(text.c_str(), &stopped);
  return unless(!text.empty() && *stopped == '\0', text, "a number");
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

bool has_name(const Option& option, std::string_view name) {
  std::string_view names = option.name;  // "-o,--output"
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma) == name) {
      return true;
    }
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

bool takes_value(std::span<const OptionSet* const> sets, std::string_view name) {
  return std::ranges::any_of(sets, [&](const OptionSet* set) {
    return std::ranges::any_of(set->all(), [&](const Option& option) {
      return has_name(option, name) && !std::holds_alternative<bool*>(option.target);
    });
  });
}

// Whether the value of an option is the word behind it: not in "--mem=1G" and "-n5". In "-qn 5" it
// belongs to the last letter.
bool takes_next_word(std::span<const OptionSet* const> sets, std::string_view word) {
  if (word.starts_with("--")) {
    return takes_value(sets, word);
  }
  for (std::size_t at = 1; at < word.size(); ++at) {
    const std::array<char, 2> letter = {'-', word[at]};
    if (takes_value(sets, {letter.data(), letter.size()})) {
      return at + 1 == word.size();
    }
  }
  return false;
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
                        std::vector<std::string>& target,
                        std::string value,
                        std::string description) {
  positional(std::move(name), &target, std::move(value), std::move(description));
  program_ = &target;
}

void OptionSet::program_behind(std::vector<std::string>& before,
                               std::string name,
                               std::vector<std::string>& target,
                               std::string value,
                               std::string description) {
  program(std::move(name), target, std::move(value), std::move(description));
  before_ = &before;
}

std::size_t OptionSet::own_words(std::span<const char* const> words,
                                 const OptionSet& global) const {
  if (program_ == nullptr) {
    return words.size();
  }
  const auto separator = std::ranges::find(words, std::string_view("--"));
  const auto before = static_cast<std::size_t>(separator - words.begin());
  const std::array<const OptionSet*, 2> sets = {this, &global};
  return before_ != nullptr ? before : option_words(words.first(before), sets);
}

void OptionSet::put_program(std::span<const char* const> words) const {
  if (program_ == nullptr) {
    return;
  }
  // The library gives words before "--" to this argument, when that before it is full.
  if (before_ != nullptr) {
    before_->insert(before_->end(), program_->begin(), program_->end());
  }
  const bool separated = !words.empty() && std::string_view(words.front()) == "--";
  const std::span<const char* const> own = words.subspan(separated ? 1 : 0);
  program_->assign(own.begin(), own.end());
}

std::size_t option_words(std::span<const char* const> words,
                         std::span<const OptionSet* const> sets) {
  std::size_t at = 0;
  while (at < words.size() && is_option(words[at])) {
    const std::string_view word = words[at];
    const bool value_follows = takes_next_word(sets, word);
    at += value_follows ? 2 : 1;
  }
  return std::min(at, words.size());
}

// The command-line library wraps a negative count and saturates a huge one; both are mistakes.
OptionCheck whole_number(std::uint64_t least) {
  return [least](const std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data(), end, value);
    return unless(
        code == std::errc() && stopped == end && value >= least,
        text,
        least == 0 ? "a whole number" : fmt::format("a whole number, at least {}", least));
  };
}

OptionCheck one_of(std::vector<std::string> choices) {
  return [choices = std::move(choices)](const std::string& text) {
    return std::ranges::find(choices, text) != choices.end()
               ? std::string()
               : fmt::format("\"{}\" is not one of {}", text, fmt::join(choices, ", "));
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

OptionCheck memory_size(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    const bool word = std::ranges::find(words, text) != words.end();
    const auto size = parse_memory_size(text);
    return word || size ? std::string() : size.error().message;
  };
}

OptionCheck time_with_unit() {
  return [](const std::string& text) {
    const auto seconds = serve::parse_seconds(text);
    return seconds ? std::string() : seconds.error().message;
  };
}

OptionCheck begin_time() {
  return [](const std::string& text) {
    const auto begin = serve::parse_begin(text, epoch_seconds());
    return begin ? std::string() : begin.error().message;
  };
}

OptionCheck number_for(const OptionTarget& target) {
  if (std::holds_alternative<unsigned*>(target) ||
      std::holds_alternative<std::optional<unsigned>*>(target)) {
    return not_a<unsigned>;
  }
  if (std::holds_alternative<std::optional<int>*>(target)) {
    return not_a<int>;
  }
  if (std::holds_alternative<std::int64_t*>(target) ||
      std::holds_alternative<std::optional<std::int64_t>*>(target) ||
      std::holds_alternative<std::vector<std::int64_t>*>(target)) {
    return not_a<std::int64_t>;
  }
  if (std::holds_alternative<double*>(target) ||
      std::holds_alternative<std::optional<double>*>(target) ||
      std::holds_alternative<std::vector<double>*>(target)) {
    return not_a_number;
  }
  if (std::holds_alternative<std::size_t*>(target) ||
      std::holds_alternative<std::optional<std::size_t>*>(target)) {
    return whole_number(0);
  }
  return {};
}

}  // namespace carpool::app
