// Names that users type: suggestions for a mistyped one, and look-up in the tables
// {name, one line, …} of models, rules, objectives and so on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool {

// Nothing when no name is within a third of the length of `wrong` (at least two) edits.
[[nodiscard]] std::optional<std::string_view> nearest_name(
    std::string_view wrong, const std::vector<std::string_view>& names);

// "; did you mean \"x\"?" or nothing: the tail of an error message.
[[nodiscard]] std::string suggestion(std::string_view wrong,
                                     const std::vector<std::string_view>& names);

// The error for a name that is not in `names`: `what` is "model", "rule", …
[[nodiscard]] Error unknown_name(std::string_view what,
                                 std::string_view wrong,
                                 const std::vector<std::string_view>& names);

// The entry of that name; an error lists the known names.
template <class Entry>
[[nodiscard]] Result<const Entry*> find_named(std::span<const Entry> table,
                                              std::string_view what,
                                              std::string_view name) {
  std::vector<std::string_view> known;
  for (const Entry& entry : table) {
    if (entry.name == name) {
      return &entry;
    }
    known.push_back(entry.name);
  }
  return tl::unexpected(unknown_name(what, name, known));
}

}  // namespace carpool
