// Files of JSON lines. Internal to estimate/.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::estimate {

using TakeLine = std::function<Result<void>(const nlohmann::json& line, std::size_t number)>;

// Calls `take` with each line that is not blank; the first error ends it, also a json exception of
// `take`. `name` is what error messages call the text, `what` a line of it.
[[nodiscard]] Result<void> for_each_line(std::string_view text,
                                         std::string_view name,
                                         std::string_view what,
                                         const TakeLine& take);

}  // namespace carpool::estimate
