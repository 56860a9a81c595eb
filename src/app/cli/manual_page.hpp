// The manual pages (roff), made from the texts of --help.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/command_table.hpp"
#include "base/result.hpp"

namespace carpool::app {

// carpool(1).
[[nodiscard]] std::string manual_page();
// carpool-NAME(1).
[[nodiscard]] std::string manual_page_of(const CommandRow& row);

}  // namespace carpool::app
