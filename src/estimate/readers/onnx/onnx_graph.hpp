// The graph of an ONNX file: operators, sizes of weights, and shapes where the file has them. The
// values of weights are not read.
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
using OnnxShape = std::vector<std::int64_t>;  // kUnknownExtent: unknown or named

struct OnnxNode {
  std::string type{};
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers{};  // attributes
};

struct OnnxTensor {
  OnnxShape shape{};
  bool is_float = true;
  std::vector<std::int64_t>
      values{};  // of a short list of integers, such as the target of a Reshape
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes{};
  std::map<std::string, OnnxTensor, std::less<>> weights{};
  std::map<std::string, OnnxShape, std::less<>>
      shapes{};                       // of inputs, outputs and intermediate tensors
  std::vector<std::string> inputs{};  // without the weights
};

[[nodiscard]] Result<OnnxGraph> parse_onnx_graph(std::string_view file, std::string_view name);

// Adds the shapes that the file does not give, by the rules of the operators' specification
// (https://onnx.ai/onnx/operators), for the operators that most networks consist of. Unknown
// extents of the inputs become `batch` in the first dimension, else `tokens`. Shapes that stay
// unknown are removed from `graph.shapes`.
void infer_shapes(OnnxGraph& graph, std::int64_t batch, std::int64_t tokens);

}  // namespace carpool::estimate
