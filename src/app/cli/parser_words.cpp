#include "app/cli/parser_words.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace carpool::app {
namespace {

// What is between the two in "BEFORE…AFTER".
std::optional<std::string_view> between(std::string_view text,
                                        std::string_view before,
                                        std::string_view after) {
  if (!text.starts_with(before) || !text.ends_with(after) ||
      text.size() < before.size() + after.size()) {
    return std::nullopt;
  }
  text.remove_prefix(before.size());
  text.remove_suffix(after.size());
  return text;
}

// Behind a colon the library lists what a value may be.
std::string_view value_name(std::string_view type) {
  return type.substr(0, type.find(':'));
}

}  // namespace

std::string plain_problem(std::string_view told) {
  // Numbers are checked before they are converted: what remains is a flag.
  if (const auto flag = between(told, "Could not convert: ", "")) {
    const std::string_view name = flag->substr(0, flag->find(" = "));
    return fmt::format("{0} takes no value; write {0} alone", name);
  }
  const std::size_t colon = std::min(told.find(": "), told.size());
  const std::string_view name = told.substr(0, colon);
  const std::string_view problem = told.substr(std::min(colon + 2, told.size()));
  if (const auto type = between(problem, "1 required ", " missing")) {
    return fmt::format("{0} has no value; write {0} {1}", name, value_name(*type));
  }
  if (const auto times = between(problem, "At Most 1 required but received ", "")) {
    return fmt::format("{} is given {} times; give it once", name, *times);
  }
  return std::string(told);
}

std::string misplaced_option(std::string_view word,
                             std::string_view command,
                             std::string_view type) {
  const bool needs_value = !type.empty() && word.find('=') == std::string_view::npos;
  return fmt::format("{0} goes behind the command: carpool {1} {0}{2}{3}",
                     word,
                     command,
                     needs_value ? " " : "",
                     needs_value ? value_name(type) : "");
}

}  // namespace carpool::app
