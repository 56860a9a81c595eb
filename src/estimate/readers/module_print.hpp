// print(module) of PyTorch: modules with their arguments, no shapes.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_module_print(std::string_view text,
                                                   std::string_view name,
                                                   const JobSettings& said);

}  // namespace carpool::estimate
