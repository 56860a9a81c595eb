#include <algorithm>
#include <optional>
#include <string>

#include "estimate/readers/onnx/onnx_graph.hpp"
#include "estimate/readers/onnx/onnx_shape_rules.hpp"

namespace carpool::estimate {
namespace {

class ShapeWalk {
 public:
  explicit ShapeWalk(OnnxGraph& graph) : graph_(graph) {}

  void walk() {
    for (const OnnxNode& node : graph_.nodes) {
      if (node.outputs.empty() || is_complete(node.outputs.front())) {
        continue;
      }
      if (const auto shape = output_shape(node, operands_of(node))) {
        const bool in_range = std::ranges::all_of(
            *shape, [](std::int64_t extent) { return extent >= 0 && extent <= kMostOnnxExtent; });
        if (in_range) {
          graph_.shapes.insert_or_assign(node.outputs.front(), *shape);
        }
      }
    }
  }

 private:
  // Shapes of the file with unknown extents are replaced by inferred ones.
  [[nodiscard]] bool is_complete(const std::string& name) const {
    const auto found = graph_.shapes.find(name);
    return found != graph_.shapes.end() &&
           std::ranges::find(found->second, kUnknownExtent) == found->second.end();
  }

  [[nodiscard]] OnnxOperands operands_of(const OnnxNode& node) const {
    OnnxOperands operands;
    for (const std::string& name : node.inputs) {
      if (const auto weight = graph_.weights.find(name); weight != graph_.weights.end()) {
        operands.shapes.emplace_back(weight->second.shape);
        if (operands.shapes.size() == 2) {
          operands.target = weight->second.values;
        }
      } else {
        operands.shapes.push_back(is_complete(name) ? std::optional(graph_.shapes.at(name))
                                                    : std::nullopt);
      }
    }
    return operands;
  }

  OnnxGraph& graph_;
};

}  // namespace

void infer_shapes(OnnxGraph& graph, std::int64_t batch, std::int64_t tokens) {
  for (const std::string& input : graph.inputs) {
    if (const auto found = graph.shapes.find(input); found != graph.shapes.end()) {
      for (std::size_t place = 0; place < found->second.size(); ++place) {
        if (found->second[place] == kUnknownExtent) {
          found->second[place] = place == 0 ? batch : tokens;
        }
      }
    }
  }
  ShapeWalk(graph).walk();
  std::erase_if(graph.shapes, [](const auto& entry) {
    return std::ranges::find(entry.second, kUnknownExtent) != entry.second.end();
  });
}

}  // namespace carpool::estimate
