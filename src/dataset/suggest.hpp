// The known name that is nearest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carpool {

// Nothing when no name is within a third of the length of `wrong` (at least two) edits.
[[nodiscard]] std::optional<std::string_view> nearest_name(
    std::string_view wrong, const std::vector<std::string_view>& names);

// "; did you mean \"x\"?" or nothing: the tail of an error message.
[[nodiscard]] std::string suggestion(std::string_view wrong,
                                     const std::vector<std::string_view>& names);

}  // namespace carpool
