// The table of `carpool queue`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

// "train.py", and "train.py[3]" for a job of an array.
[[nodiscard]] std::string shown_name(const nlohmann::json& job);

// The jobs of an array are one row, unless `expand`: "17_[0-99]", how many are in which state, and
// the reason of the first that waits. `columns`: of the terminal; empty: cells are not cut.
[[nodiscard]] std::string queue_table(const nlohmann::json& jobs,
                                      bool expand,
                                      bool colour,
                                      std::optional<std::size_t> columns);

}  // namespace carpool::app
