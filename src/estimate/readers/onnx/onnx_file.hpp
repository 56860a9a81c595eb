// An ONNX file as a list of layers. Operators that no rule is known for are counted and reported;
// too many without a shape are an error that says what to do.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_onnx(std::string_view file,
                                           std::string_view name,
                                           const JobSettings& settings);

}  // namespace carpool::estimate
