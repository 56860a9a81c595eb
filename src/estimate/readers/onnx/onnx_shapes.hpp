// Shapes that an ONNX file does not tell, for the operators of which networks are mostly made, by
// the rules of the operators' specification (https://onnx.ai/onnx/operators).
#pragma once

#include <optional>

#include "estimate/readers/onnx/onnx_graph.hpp"

namespace carpool::estimate {

// Unknown extents of the inputs become `batch` where they come first, else `tokens`; then shapes go
// from operator to operator. What stays unknown is not in `graph.shapes`.
void infer_shapes(OnnxGraph& graph, std::int64_t batch, std::int64_t tokens);

}  // namespace carpool::estimate
