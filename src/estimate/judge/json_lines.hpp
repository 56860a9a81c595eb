// Files of JSON lines. Internal to estimate/.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::estimate {

using TakeLine = std::function<Result<void>(const nlohmann::json& line, std::size_t number)>;

// Calls `take` with each line that is not blank; the first error, also a JSON exception of `take`,
// ends it. In messages `name` is the name of the text and `what` that of a line.
[[nodiscard]] Result<void> for_each_line(std::string_view text,
                                         std::string_view name,
                                         std::string_view what,
                                         const TakeLine& take);

}  // namespace carpool::estimate
