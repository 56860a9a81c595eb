#include "estimate/readers/onnx/onnx_graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "estimate/readers/onnx/wire_reader.hpp"

namespace carpool::estimate {
namespace {

// Field numbers of onnx.proto3 (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3).
constexpr std::uint64_t kModelGraph = 7;
constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kMostDimensions = 16;
constexpr std::size_t kMostListed = 64;
// Types of TensorProto that weights have: float, float16, double, bfloat16, 8-bit floats.
constexpr std::array<std::uint64_t, 8> kFloatTypes = {1, 10, 11, 16, 17, 18, 19, 20};
constexpr std::uint64_t kInt64 = 7;

std::int64_t extent(std::uint64_t value) {
  return value > static_cast<std::uint64_t>(kMostOnnxExtent) ? kUnknownExtent
                                                             : static_cast<std::int64_t>(value);
}

// Calls `take` with each field; false: the message is damaged or `take` returned false.
template <class Take>
bool each_field(std::string_view message, const Take& take) {
  WireReader reader(message);
  bool whole = true;
  while (const auto field = reader.next()) {
    whole = take(*field) && whole;
  }
  return whole && !reader.damaged();
}

std::vector<std::int64_t> numbers_in(std::string_view raw) {
  constexpr std::size_t kBytes = 8;
  std::vector<std::int64_t> numbers;
  for (; raw.size() >= kBytes && numbers.size() < kMostListed; raw.remove_prefix(kBytes)) {
    numbers.push_back(static_cast<std::int64_t>(little_endian(raw.substr(0, kBytes))));
  }
  return numbers;
}

class GraphReader {
 public:
  // False: damaged.
  bool read(std::string_view message) {
    return each_field(message, [&](const WireField& field) {
      switch (field.number) {
        case 1:
          return field.is_bytes && read_node(field.bytes);
        case 5:
          return field.is_bytes && read_weight(field.bytes);
        case 11:
        case 12:
        case 13:
          return field.is_bytes && read_value(field.bytes, field.number == 11);
        default:
          return true;
      }
    });
  }

  OnnxGraph graph;

 private:
  bool read_node(std::string_view message) {
    if (graph.nodes.size() >= kMostNodes) {
      return false;
    }
    OnnxNode node;
    const bool whole = each_field(message, [&](const WireField& field) {
      if (field.number == 1) {
        node.inputs.emplace_back(field.bytes);
      } else if (field.number == 2) {
        node.outputs.emplace_back(field.bytes);
      } else if (field.number == 4) {
        node.type = field.bytes;
      } else if (field.number == 5) {
        return read_attribute(field.bytes, node);
      }
      return true;
    });
    graph.nodes.push_back(std::move(node));
    return whole;
  }

  static bool read_attribute(std::string_view message, OnnxNode& node) {
    std::string name;
    std::vector<std::int64_t> numbers;
    OnnxTensor tensor;
    const bool whole = each_field(message, [&](const WireField& field) {
      if (field.number == 1) {
        name = field.bytes;
      } else if (field.number == 3 || field.number == 8) {
        append_numbers(field, kMostListed, numbers);
      } else if (field.number == 5) {
        std::string ignored;
        return read_tensor(field.bytes, ignored, tensor);
      }
      return true;
    });
    if (numbers.empty()) {
      numbers = std::move(tensor.values);  // of a Constant
    }
    node.numbers.emplace(std::move(name), std::move(numbers));
    return whole;
  }

  static bool read_tensor(std::string_view message, std::string& name, OnnxTensor& tensor) {
    std::vector<std::int64_t> dimensions;
    std::uint64_t type = 1;
    std::string_view raw;
    const bool whole = each_field(message, [&](const WireField& field) {
      if (field.number == 1) {
        append_numbers(field, kMostDimensions, dimensions);
      } else if (field.number == 2) {
        type = field.value;
      } else if (field.number == 7) {
        append_numbers(field, kMostListed, tensor.values);
      } else if (field.number == 8) {
        name = field.bytes;
      } else if (field.number == 9) {
        raw = field.bytes;
      }
      return true;
    });
    for (const std::int64_t dimension : dimensions) {
      tensor.shape.push_back(extent(static_cast<std::uint64_t>(dimension)));
    }
    tensor.is_float = std::ranges::find(kFloatTypes, type) != kFloatTypes.end();
    if (type == kInt64 && tensor.values.empty()) {
      tensor.values = numbers_in(raw);
    }
    return whole && std::ranges::find(tensor.shape, kUnknownExtent) == tensor.shape.end();
  }

  bool read_weight(std::string_view message) {
    std::string name;
    OnnxTensor tensor;
    const bool whole = read_tensor(message, name, tensor);
    graph.weights.emplace(std::move(name), std::move(tensor));
    return whole;
  }

  // ValueInfoProto: name, type { tensor_type { element, shape { dimensions } } }.
  bool read_value(std::string_view message, bool input) {
    std::string name;
    std::optional<OnnxShape> shape;
    const bool whole = each_field(message, [&](const WireField& field) {
      if (field.number == 1) {
        name = field.bytes;
        return true;
      }
      return field.number != 2 || each_field(field.bytes, [&](const WireField& type) {
               return type.number != 1 || each_field(type.bytes, [&](const WireField& tensor) {
                        return tensor.number != 2 || read_shape(tensor.bytes, shape.emplace());
                      });
             });
    });
    if (input) {
      graph.inputs.push_back(name);
    }
    if (shape) {
      graph.shapes.emplace(std::move(name), std::move(*shape));
    }
    return whole;
  }

  static bool read_shape(std::string_view message, OnnxShape& shape) {
    return each_field(message, [&](const WireField& dimension) {
      if (dimension.number != 1) {
        return true;
      }
      if (shape.size() >= kMostDimensions) {
        return false;
      }
      shape.push_back(kUnknownExtent);  // until its value is read
      return each_field(dimension.bytes, [&](const WireField& field) {
        if (field.number == 1 && !field.is_bytes) {
          shape.back() = extent(field.value);
        }
        return true;
      });
    });
  }
};

}  // namespace

Result<OnnxGraph> parse_onnx_graph(std::string_view file, std::string_view name) {
  GraphReader reader;
  bool found = false;
  const bool whole = each_field(file, [&](const WireField& field) {
    if (field.number != kModelGraph || !field.is_bytes || found) {
      return true;
    }
    found = true;
    return reader.read(field.bytes);
  });
  if (!whole || !found) {
    return invalid_input(
        fmt::format("{} is not a complete ONNX file: {}",
                    name,
                    found ? "its graph is damaged or truncated" : "it has no graph"));
  }
  OnnxGraph& graph = reader.graph;
  std::erase_if(graph.inputs,
                [&](const std::string& input) { return graph.weights.contains(input); });
  if (graph.nodes.empty()) {
    return invalid_input(fmt::format("{}: the graph has no operator", name));
  }
  return std::move(reader.graph);
}

}  // namespace carpool::estimate
