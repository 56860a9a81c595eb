#include "estimate/readers/onnx/onnx_file.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "estimate/readers/onnx/onnx_graph.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

// Factor on the bound: an export for inference may fold batch norms into convolutions.
constexpr double kFoldedWidening = 1.3;
constexpr double kUnshapedWidening = 1.5;
constexpr double kMostUnshaped = 0.1;  // share of the operators

struct OperatorName {
  std::string_view type;
  std::string_view layer;  // the layer whose rule applies
};
constexpr auto kOperators = std::to_array<OperatorName>({
    {"Conv", "Conv2d"},
    {"ConvTranspose", "ConvTranspose2d"},
    {"Gemm", "Linear"},
    {"MatMul", "Linear"},
    {"BatchNormalization", "BatchNorm2d"},
    {"LayerNormalization", "LayerNorm"},
    {"GroupNormalization", "GroupNorm"},
    {"InstanceNormalization", "GroupNorm"},
    {"Relu", "ReLU"},
    {"LeakyRelu", "LeakyReLU"},
    {"PRelu", "PReLU"},
    {"Elu", "ELU"},
    {"Selu", "SELU"},
    {"Gelu", "GELU"},
    {"Mish", "Mish"},
    {"HardSwish", "Hardswish"},
    {"HardSigmoid", "Hardsigmoid"},
    {"Clip", "ReLU6"},
    {"Softplus", "Softplus"},
    {"Sigmoid", "Sigmoid"},
    {"Tanh", "Tanh"},
    {"Softmax", "Softmax"},
    {"LogSoftmax", "Softmax"},
    {"Dropout", "dropout"},
    {"MaxPool", "MaxPool2d"},
    {"AveragePool", "AvgPool2d"},
    {"GlobalAveragePool", "AdaptiveAvgPool2d"},
    {"GlobalMaxPool", "AdaptiveMaxPool2d"},
    // "Scale" keeps an operand, "Cat" only makes a new tensor, "Flatten" makes none.
    {"Mul", "Scale"},
    {"Div", "Scale"},
    {"Pow", "Scale"},
    {"Erf", "Scale"},
    {"Sqrt", "Scale"},
    {"Exp", "Scale"},
    {"Add", "Cat"},
    {"Sub", "Cat"},
    {"Concat", "Cat"},
    {"Gather", "Cat"},
    {"Where", "Cat"},
    {"Pad", "Cat"},
    {"ReduceMean", "Cat"},
    {"Resize", "Upsample"},
    {"Upsample", "Upsample"},
    {"Reshape", "Flatten"},
    {"Flatten", "Flatten"},
    {"Squeeze", "Flatten"},
    {"Unsqueeze", "Flatten"},
    {"Transpose", "Flatten"},
    {"Identity", "Flatten"},
    {"Slice", "Flatten"},
    {"Split", "Flatten"},
    {"Cast", "Flatten"},
});
// Arithmetic on shapes and constants, which needs no GPU memory.
constexpr auto kNothing = std::to_array<std::string_view>(
    {"Constant", "Shape", "ConstantOfShape", "Range", "Size", "Expand", "Equal", "Not", "And"});

class LayerWriter {
 public:
  explicit LayerWriter(const OnnxGraph& graph) : graph_(graph) {}

  void take(const OnnxNode& node) {
    if (std::ranges::find(kNothing, node.type) != kNothing.end() || node.outputs.empty()) {
      return;
    }
    LayerLine line{.type = node.type, .parameters = own_parameters(node)};
    if (const auto* known = std::ranges::find(kOperators, node.type, &OperatorName::type);
        known != kOperators.end()) {
      line.type = known->layer;
    }
    norms = norms || line.type == "BatchNorm2d";
    convolutions = convolutions || node.type == "Conv";
    ++operators;
    const auto shape = graph_.shapes.find(node.outputs.front());
    if (shape == graph_.shapes.end()) {
      ++unshaped;
      line.type = "Identity";  // its parameters count
    } else {
      line.shape = shape->second;
    }
    list.layers.push_back(std::move(line));
  }

  LayerList list;
  std::size_t operators = 0;
  std::size_t unshaped = 0;
  bool norms = false;
  bool convolutions = false;

 private:
  // Weights belong to the first operator that uses them; running statistics are not parameters.
  std::int64_t own_parameters(const OnnxNode& node) {
    std::int64_t own = 0;
    for (std::size_t index = 0; index < node.inputs.size(); ++index) {
      const auto weight = graph_.weights.find(node.inputs[index]);
      if (weight == graph_.weights.end() || !weight->second.is_float ||
          !used_.insert(node.inputs[index]).second) {
        continue;
      }
      constexpr std::size_t kFirstStatistic = 3;
      const std::int64_t count = product(weight->second.shape);
      if (node.type == "BatchNormalization" && index >= kFirstStatistic) {
        list.buffers = plus(list.buffers, times(count, 4));
      } else {
        own = plus(own, count);
        list.parameters = plus(list.parameters, count);
      }
    }
    return own;
  }

  const OnnxGraph& graph_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<ReadModel> parse_onnx(std::string_view file,
                             std::string_view name,
                             const JobSettings& settings) {
  auto graph = parse_onnx_graph(file, name);
  if (!graph) {
    return tl::unexpected(graph.error());
  }
  const auto input =
      graph->inputs.empty() ? graph->shapes.end() : graph->shapes.find(graph->inputs.front());
  if (input == graph->shapes.end() || input->second.empty()) {
    return invalid_input(
        fmt::format("{}: the input of the graph has no shape; export the model with one", name));
  }
  ReadModel read{.model = {.name = std::string(name), .family = "layers"}};
  const bool open_batch = input->second.front() == kUnknownExtent;
  const std::int64_t tokens = settings.sequence.value_or(kUsualTokens);
  if (std::ranges::count(input->second, kUnknownExtent) > (open_batch ? 1 : 0)) {
    read.notes.push_back(fmt::format("unknown extents of the input are taken as {}", tokens));
  }
  infer_shapes(*graph, 1, tokens);
  LayerWriter writer(*graph);
  for (const OnnxNode& node : graph->nodes) {
    writer.take(node);
  }
  const double missing = static_cast<double>(writer.unshaped) /
                         static_cast<double>(std::max<std::size_t>(writer.operators, 1));
  if (writer.operators == 0 || missing > kMostUnshaped) {
    return invalid_input(
        fmt::format("{}: {} of {} operators have no shape; add the shapes with "
                    "onnx.shape_inference.infer_shapes_path",
                    name,
                    writer.unshaped,
                    writer.operators));
  }
  LayerList& list = writer.list;
  const OnnxShape& shape = graph->shapes.at(graph->inputs.front());
  list.batch = std::max<std::int64_t>(shape.front(), 1);
  list.input_elements = product(shape) / list.batch;
  if (!open_batch && list.batch > 1) {
    read.settings.batch = list.batch;
  }
  if (writer.unshaped > 0) {
    read.widening = kUnshapedWidening;
    read.notes.push_back(
        fmt::format("{} operators have no shape and are left out", writer.unshaped));
  } else if (writer.convolutions && !writer.norms) {
    read.widening = kFoldedWidening;
    read.notes.emplace_back("the export may have folded batch norms into convolutions");
  }
  read.model.shape = std::move(list);
  return read;
}

}  // namespace carpool::estimate
