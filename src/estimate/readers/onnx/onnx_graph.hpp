// What an ONNX file says of its graph: operators, weights by size, shapes where it has them. The
// values of weights are passed over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::estimate {

inline constexpr std::int64_t kMostOnnxExtent = 1'000'000'000'000;  // of one dimension

inline constexpr std::int64_t kUnknownExtent = -1;
using OnnxShape = std::vector<std::int64_t>;  // an unknown or named extent is kUnknownExtent

struct OnnxNode {
  std::string type{};
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers{};  // attributes
};

struct OnnxTensor {
  OnnxShape shape{};
  bool is_float = true;
  std::vector<std::int64_t> values{};  // of a short list of whole numbers, as Reshape takes
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes{};
  std::map<std::string, OnnxTensor, std::less<>> weights{};
  std::map<std::string, OnnxShape, std::less<>> shapes{};  // of inputs, outputs and what is between
  std::vector<std::string> inputs{};                       // without the weights
};

[[nodiscard]] Result<OnnxGraph> parse_onnx_graph(std::string_view file, std::string_view name);

// Adds the shapes that the file does not give, by the rules of the operators' specification
// (https://onnx.ai/onnx/operators), for the operators that most networks consist of. Unknown
// extents of the inputs become `batch` in the first dimension, else `tokens`. Shapes that stay
// unknown are removed from `graph.shapes`.
void infer_shapes(OnnxGraph& graph, std::int64_t batch, std::int64_t tokens);

}  // namespace carpool::estimate
