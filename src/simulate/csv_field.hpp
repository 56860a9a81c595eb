// Fields of tables that the simulator writes. Internal to simulate/.
#pragma once

#include <string>

namespace carpool::simulate {

// In quotes where it holds what parts fields or rows.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace carpool::simulate
