// An ONNX file as a layer list. Operators without a rule keep their names and are counted as
// unknown layers; too many operators without a shape are an error.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_onnx(std::string_view file,
                                           std::string_view name,
                                           const JobSettings& settings);

}  // namespace carpool::estimate
