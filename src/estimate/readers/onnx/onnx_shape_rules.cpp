#include "estimate/readers/onnx/onnx_shape_rules.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

using OptionalShape = std::optional<OnnxShape>;

std::int64_t number(const OnnxNode& node,
                    std::string_view name,
                    std::size_t place,
                    std::int64_t otherwise) {
  const auto found = node.numbers.find(name);
  return found != node.numbers.end() && place < found->second.size() ? found->second[place]
                                                                     : otherwise;
}

// Index of a dimension, counted from the end where `axis` is negative; `size`: out of range.
std::size_t axis_of(std::int64_t axis, std::size_t size) {
  const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(size) : axis;
  return place < 0 || place >= static_cast<std::int64_t>(size) ? size
                                                               : static_cast<std::size_t>(place);
}

bool is(std::string_view type, std::span<const std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

constexpr auto kKeepShape = std::to_array<std::string_view>({"Relu",
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

OptionalShape input(const OnnxOperands& operands, std::size_t index) {
  return index < operands.shapes.size() ? operands.shapes[index] : std::nullopt;
}

OptionalShape broadcast(const OnnxNode& node,
                        const OnnxOperands& operands,
                        const OnnxShape& first) {
  OnnxShape out = first;
  for (std::size_t index = 1; index < node.inputs.size(); ++index) {
    const OptionalShape other = input(operands, index);
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

// Convolutions and poolings: batch, channels, then the dimensions that the kernel slides over.
OptionalShape slide(const OnnxNode& node, const OnnxOperands& operands, const OnnxShape& first) {
  const bool convolution = node.type == "Conv";
  const OptionalShape weight = convolution ? input(operands, 1) : std::nullopt;
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
    for (const std::int64_t number_given : {kernel, dilation, before, behind}) {
      if (number_given < 0 || number_given > kMostOnnxExtent) {
        return std::nullopt;
      }
    }
    const std::int64_t free = first[place + 2] + before + behind - times(dilation, kernel - 1) - 1;
    const std::int64_t rounding = number(node, "ceil_mode", 0, 0) != 0 ? stride - 1 : 0;
    out[place + 2] = std::max<std::int64_t>((free + rounding) / stride + 1, 1);
  }
  return out;
}

OptionalShape pooled(const OnnxShape& first) {
  OnnxShape out = first;
  std::fill(out.begin() + std::min<std::ptrdiff_t>(2, std::ssize(out)), out.end(), 1);
  return out;
}

OptionalShape flatten(const OnnxNode& node, const OnnxShape& first) {
  const std::size_t axis = axis_of(number(node, "axis", 0, 1), first.size());
  OnnxShape out = {1, 1};
  for (std::size_t place = 0; place < first.size(); ++place) {
    std::int64_t& side = out[place < axis ? 0 : 1];
    side = times(side, first[place]);
  }
  return out;
}

OptionalShape multiply(const OnnxNode& node, const OnnxOperands& operands, const OnnxShape& first) {
  const OptionalShape second = input(operands, 1);
  if (!second || second->size() < 2 || first.size() < 2) {
    return std::nullopt;
  }
  const bool turned = number(node, "transB", 0, 0) != 0;
  OnnxShape out = first.size() >= second->size() ? first : *second;
  out[out.size() - 2] = first[first.size() - 2];
  out.back() = turned ? (*second)[second->size() - 2] : second->back();
  return out;
}

OptionalShape concatenate(const OnnxNode& node,
                          const OnnxOperands& operands,
                          const OnnxShape& first) {
  OnnxShape out = first;
  const std::size_t axis = axis_of(number(node, "axis", 0, 0), out.size());
  if (axis == out.size()) {
    return std::nullopt;
  }
  for (std::size_t index = 1; index < node.inputs.size(); ++index) {
    const OptionalShape other = input(operands, index);
    if (!other || other->size() != out.size()) {
      return std::nullopt;
    }
    out[axis] = plus(out[axis], (*other)[axis]);
  }
  return out;
}

OptionalShape transpose(const OnnxNode& node, const OnnxShape& first) {
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

// In the target shape, 0 keeps an extent and -1 stands for the rest.
OptionalShape reshape(const OnnxOperands& operands, const OnnxShape& first) {
  if (operands.target.empty()) {
    return std::nullopt;
  }
  OnnxShape out = operands.target;
  const std::int64_t all = product(first);
  std::int64_t given = 1;
  for (std::size_t place = 0; place < out.size(); ++place) {
    if (out[place] == 0 && place < first.size()) {
      out[place] = first[place];
    }
    if (out[place] != kUnknownExtent) {
      if (out[place] < 0 || out[place] > kMostOnnxExtent) {
        return std::nullopt;
      }
      given = times(given, out[place]);
    }
  }
  std::ranges::replace(out, kUnknownExtent, given > 0 ? all / given : 0);
  return out;
}

// Embeddings: rows of a table.
OptionalShape gather(const OnnxNode& node, const OnnxOperands& operands, const OnnxShape& first) {
  const OptionalShape indices = input(operands, 1);
  if (!indices || first.empty() || number(node, "axis", 0, 0) != 0) {
    return std::nullopt;
  }
  OnnxShape out = *indices;
  out.insert(out.end(), first.begin() + 1, first.end());
  return out;
}

OptionalShape by_name(const OnnxNode& node, const OnnxOperands& operands, const OnnxShape& first) {
  const std::string& type = node.type;
  if (type == "GlobalAveragePool" || type == "GlobalMaxPool") {
    return pooled(first);
  }
  if (type == "Flatten") {
    return flatten(node, first);
  }
  if (type == "Gemm" || type == "MatMul") {
    return multiply(node, operands, first);
  }
  if (type == "Concat") {
    return concatenate(node, operands, first);
  }
  if (type == "Transpose") {
    return transpose(node, first);
  }
  if (type == "Reshape") {
    return reshape(operands, first);
  }
  if (type == "Gather") {
    return gather(node, operands, first);
  }
  return std::nullopt;
}

}  // namespace

std::optional<OnnxShape> output_shape(const OnnxNode& node, const OnnxOperands& operands) {
  OptionalShape first = input(operands, 0);
  if (!first) {
    return std::nullopt;
  }
  if (is(node.type, kKeepShape)) {
    return first;
  }
  if (is(node.type, kBroadcast)) {
    return broadcast(node, operands, *first);
  }
  if (is(node.type, kSliding)) {
    return slide(node, operands, *first);
  }
  return by_name(node, operands, *first);
}

}  // namespace carpool::estimate
