#include "estimate/readers/onnx/onnx_shapes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

using Known = std::optional<OnnxShape>;

std::int64_t number(const OnnxNode& node,
                    std::string_view name,
                    std::size_t place,
                    std::int64_t otherwise) {
  const auto found = node.numbers.find(name);
  return found != node.numbers.end() && place < found->second.size() ? found->second[place]
                                                                     : otherwise;
}

// A place in a shape, counted from the end where it is below 0; the size: outside of it.
std::size_t axis_of(std::int64_t axis, std::size_t size) {
  const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(size) : axis;
  return place < 0 || place >= static_cast<std::int64_t>(size) ? size
                                                               : static_cast<std::size_t>(place);
}

bool is(std::string_view type, std::span<const std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

constexpr auto kLikeTheirInput = std::to_array<std::string_view>({"Relu",
                                                                  "LeakyRelu",
                                                                  "PRelu",
                                                                  "Elu",
                                                                  "Selu",
                                                                  "Sigmoid",
                                                                  "HardSigmoid",
                                                                  "HardSwish",
                                                                  "Tanh",
                                                                  "Gelu",
                                                                  "Erf",
                                                                  "Sqrt",
                                                                  "Softmax",
                                                                  "LogSoftmax",
                                                                  "Softplus",
                                                                  "Mish",
                                                                  "Clip",
                                                                  "Exp",
                                                                  "Neg",
                                                                  "Abs",
                                                                  "Cast",
                                                                  "Identity",
                                                                  "Dropout",
                                                                  "BatchNormalization",
                                                                  "LayerNormalization",
                                                                  "InstanceNormalization",
                                                                  "GroupNormalization",
                                                                  "LRN",
                                                                  "Reciprocal"});
constexpr auto kBroadcast =
    std::to_array<std::string_view>({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Where"});
constexpr auto kSliding = std::to_array<std::string_view>({"Conv", "MaxPool", "AveragePool"});

class ShapeWalk {
 public:
  explicit ShapeWalk(OnnxGraph& graph) : graph_(graph) {}

  void walk() {
    for (const OnnxNode& node : graph_.nodes) {
      if (node.outputs.empty() || whole(node.outputs.front())) {
        continue;
      }
      if (const Known shape = shape_of(node)) {
        const bool sane = std::ranges::all_of(
            *shape, [](std::int64_t extent) { return extent >= 0 && extent <= kMostOnnxExtent; });
        if (sane) {
          graph_.shapes.insert_or_assign(node.outputs.front(), *shape);
        }
      }
    }
  }

 private:
  // A shape of the file with unknown extents is worth less than one that can be inferred.
  [[nodiscard]] bool whole(const std::string& name) const {
    const auto found = graph_.shapes.find(name);
    return found != graph_.shapes.end() &&
           std::ranges::find(found->second, kUnknownExtent) == found->second.end();
  }

  [[nodiscard]] Known input(const OnnxNode& node, std::size_t index) const {
    if (index >= node.inputs.size()) {
      return std::nullopt;
    }
    const std::string& name = node.inputs[index];
    if (const auto weight = graph_.weights.find(name); weight != graph_.weights.end()) {
      return weight->second.shape;
    }
    return whole(name) ? Known(graph_.shapes.at(name)) : std::nullopt;
  }

  [[nodiscard]] Known shape_of(const OnnxNode& node) const {
    Known first = input(node, 0);
    if (!first) {
      return std::nullopt;
    }
    if (is(node.type, kLikeTheirInput)) {
      return first;
    }
    if (is(node.type, kBroadcast)) {
      return broadcast(node, *first);
    }
    if (is(node.type, kSliding)) {
      return slide(node, *first);
    }
    return by_name(node, *first);
  }

  [[nodiscard]] Known by_name(const OnnxNode& node, const OnnxShape& first) const {
    const std::string& type = node.type;
    if (type == "GlobalAveragePool" || type == "GlobalMaxPool") {
      return pooled(first);
    }
    if (type == "Flatten") {
      return flatten(node, first);
    }
    if (type == "Gemm" || type == "MatMul") {
      return multiply(node, first);
    }
    if (type == "Concat") {
      return concatenate(node, first);
    }
    if (type == "Transpose") {
      return transpose(node, first);
    }
    if (type == "Reshape") {
      return reshape(node, first);
    }
    if (type == "Gather") {
      return gather(node, first);
    }
    return std::nullopt;
  }

  [[nodiscard]] Known broadcast(const OnnxNode& node, const OnnxShape& first) const {
    OnnxShape out = first;
    for (std::size_t index = 1; index < node.inputs.size(); ++index) {
      const Known other = input(node, index);
      if (!other) {
        return std::nullopt;
      }
      if (other->size() > out.size()) {
        out.insert(out.begin(), other->size() - out.size(), 1);
      }
      const std::size_t ahead = out.size() - other->size();
      for (std::size_t place = 0; place < other->size(); ++place) {
        out[ahead + place] = std::max(out[ahead + place], (*other)[place]);
      }
    }
    return out;
  }

  // Convolutions and poolings: batch, channels, then what they slide over.
  [[nodiscard]] Known slide(const OnnxNode& node, const OnnxShape& first) const {
    const bool convolution = node.type == "Conv";
    const Known weight = convolution ? input(node, 1) : std::nullopt;
    if (first.size() < 3 || (convolution && (!weight || weight->size() != first.size()))) {
      return std::nullopt;
    }
    OnnxShape out = first;
    out[1] = convolution ? weight->front() : first[1];
    for (std::size_t place = 0; place + 2 < first.size(); ++place) {
      const std::int64_t kernel =
          number(node, "kernel_shape", place, convolution ? (*weight)[place + 2] : 1);
      const std::int64_t stride = std::max<std::int64_t>(number(node, "strides", place, 1), 1);
      const std::int64_t dilation = number(node, "dilations", place, 1);
      const std::int64_t before = number(node, "pads", place, 0);
      const std::int64_t behind = number(node, "pads", place + first.size() - 2, 0);
      for (const std::int64_t given : {kernel, dilation, before, behind}) {
        if (given < 0 || given > kMostOnnxExtent) {
          return std::nullopt;
        }
      }
      const std::int64_t free =
          first[place + 2] + before + behind - times(dilation, kernel - 1) - 1;
      const std::int64_t rounding = number(node, "ceil_mode", 0, 0) != 0 ? stride - 1 : 0;
      out[place + 2] = std::max<std::int64_t>((free + rounding) / stride + 1, 1);
    }
    return out;
  }

  static Known pooled(const OnnxShape& first) {
    OnnxShape out = first;
    std::fill(out.begin() + std::min<std::ptrdiff_t>(2, std::ssize(out)), out.end(), 1);
    return out;
  }

  static Known flatten(const OnnxNode& node, const OnnxShape& first) {
    const std::size_t axis = axis_of(number(node, "axis", 0, 1), first.size());
    OnnxShape out = {1, 1};
    for (std::size_t place = 0; place < first.size(); ++place) {
      std::int64_t& side = out[place < axis ? 0 : 1];
      side = times(side, first[place]);
    }
    return out;
  }

  [[nodiscard]] Known multiply(const OnnxNode& node, const OnnxShape& first) const {
    const Known second = input(node, 1);
    if (!second || second->size() < 2 || first.size() < 2) {
      return std::nullopt;
    }
    const bool turned = number(node, "transB", 0, 0) != 0;
    OnnxShape out = first.size() >= second->size() ? first : *second;
    out[out.size() - 2] = first[first.size() - 2];
    out.back() = turned ? (*second)[second->size() - 2] : second->back();
    return out;
  }

  [[nodiscard]] Known concatenate(const OnnxNode& node, const OnnxShape& first) const {
    OnnxShape out = first;
    const std::size_t axis = axis_of(number(node, "axis", 0, 0), out.size());
    if (axis == out.size()) {
      return std::nullopt;
    }
    for (std::size_t index = 1; index < node.inputs.size(); ++index) {
      const Known other = input(node, index);
      if (!other || other->size() != out.size()) {
        return std::nullopt;
      }
      out[axis] = plus(out[axis], (*other)[axis]);
    }
    return out;
  }

  static Known transpose(const OnnxNode& node, const OnnxShape& first) {
    OnnxShape out(first.rbegin(), first.rend());
    for (std::size_t place = 0; place < first.size(); ++place) {
      const std::int64_t from =
          number(node, "perm", place, static_cast<std::int64_t>(first.size() - 1 - place));
      if (axis_of(from, first.size()) == first.size()) {
        return std::nullopt;
      }
      out[place] = first[axis_of(from, first.size())];
    }
    return out;
  }

  // To a constant shape, in which 0 keeps an extent and -1 takes what is left.
  [[nodiscard]] Known reshape(const OnnxNode& node, const OnnxShape& first) const {
    const auto weight =
        node.inputs.size() > 1 ? graph_.weights.find(node.inputs[1]) : graph_.weights.end();
    if (weight == graph_.weights.end() || weight->second.values.empty()) {
      return std::nullopt;
    }
    OnnxShape out = weight->second.values;
    std::int64_t all = 1;
    for (const std::int64_t extent : first) {
      all = times(all, extent);
    }
    std::int64_t told = 1;
    for (std::size_t place = 0; place < out.size(); ++place) {
      if (out[place] == 0 && place < first.size()) {
        out[place] = first[place];
      }
      if (out[place] != kUnknownExtent) {
        if (out[place] < 0 || out[place] > kMostOnnxExtent) {
          return std::nullopt;
        }
        told = times(told, out[place]);
      }
    }
    std::ranges::replace(out, kUnknownExtent, told > 0 ? all / told : 0);
    return out;
  }

  // An embedding: rows of a table.
  [[nodiscard]] Known gather(const OnnxNode& node, const OnnxShape& first) const {
    const Known indices = input(node, 1);
    if (!indices || first.empty() || number(node, "axis", 0, 0) != 0) {
      return std::nullopt;
    }
    OnnxShape out = *indices;
    out.insert(out.end(), first.begin() + 1, first.end());
    return out;
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
