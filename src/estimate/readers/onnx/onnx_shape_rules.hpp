// The shape of an operator's output from those of its inputs. Internal to estimate/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/readers/onnx/onnx_graph.hpp"

namespace carpool::estimate {

struct OnnxOperands {
  std::vector<std::optional<OnnxShape>> shapes{};  // of the inputs, as far as they are known
  std::vector<std::int64_t> target{};              // constant second input of a Reshape, if any
};

// Nothing: the first input or another that matters is unknown, or there is no rule for the
// operator. Extents may be out of range where the file is absurd.
[[nodiscard]] std::optional<OnnxShape> output_shape(const OnnxNode& node,
                                                    const OnnxOperands& operands);

}  // namespace carpool::estimate
