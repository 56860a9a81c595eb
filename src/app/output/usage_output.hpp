// The table of `carpool usage`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

// From the answer of /v1/usage. `columns`: of the terminal; empty: cells are not cut.
[[nodiscard]] std::string usage_text(const nlohmann::json& usage,
                                     bool colour,
                                     std::optional<std::size_t> columns);

}  // namespace carpool::app
