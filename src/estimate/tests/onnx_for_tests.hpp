// ONNX files for tests, written field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carpool::estimate {

inline std::string wire_varint(std::uint64_t value) {
  std::string out;
  while (value >= 0x80U) {
    out += static_cast<char>((value & 0x7FU) | 0x80U);
    value >>= 7U;
  }
  return out + static_cast<char>(value);
}

inline std::string wire_number(std::uint64_t field, std::int64_t value) {
  return wire_varint(field << 3U) + wire_varint(static_cast<std::uint64_t>(value));
}

inline std::string wire_bytes(std::uint64_t field, std::string_view bytes) {
  return wire_varint(field << 3U | 2U) + wire_varint(bytes.size()) + std::string(bytes);
}

// A name and its extents; those below 0 get a name instead of a value.
inline std::string onnx_value(std::string_view name, const std::vector<std::int64_t>& shape) {
  std::string dimensions;
  for (const std::int64_t extent : shape) {
    dimensions += wire_bytes(1, extent < 0 ? wire_bytes(2, "batch") : wire_number(1, extent));
  }
  return wire_bytes(1, name) +
         wire_bytes(2, wire_bytes(1, wire_number(1, 1) + wire_bytes(2, dimensions)));
}

inline std::string onnx_weight(std::string_view name, const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t extent : shape) {
    out += wire_number(1, extent);
  }
  return wire_bytes(5, out + wire_number(2, 1) + wire_bytes(8, name) + wire_bytes(9, "raw"));
}

struct OnnxNumbers {
  std::string_view name;
  std::vector<std::int64_t> values;
};

inline std::string onnx_node(std::string_view type,
                             const std::vector<std::string_view>& inputs,
                             std::string_view output,
                             const std::vector<OnnxNumbers>& attributes = {}) {
  std::string out;
  for (const std::string_view input : inputs) {
    out += wire_bytes(1, input);
  }
  out += wire_bytes(2, output) + wire_bytes(4, type);
  for (const OnnxNumbers& attribute : attributes) {
    std::string packed;
    for (const std::int64_t value : attribute.values) {
      packed += wire_varint(static_cast<std::uint64_t>(value));
    }
    out += wire_bytes(5, wire_bytes(1, attribute.name) + wire_bytes(8, packed));
  }
  return wire_bytes(1, out);
}

inline std::string onnx_model(const std::string& graph) {
  return wire_number(1, 8) + wire_bytes(2, "a test") + wire_bytes(7, graph);
}

// Convolution, batch norm, ReLU, pooling, linear; shapes only of the input.
inline std::string small_onnx(std::int64_t batch) {
  return onnx_model(
      wire_bytes(11, onnx_value("x", {batch, 3, 32, 32})) +
      onnx_node("Conv",
                {"x", "w1"},
                "c",
                {{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}}) +
      onnx_node("BatchNormalization", {"c", "g", "b", "m", "v"}, "n") +
      onnx_node("Relu", {"n"}, "r") + onnx_node("GlobalAveragePool", {"r"}, "p") +
      onnx_node("Flatten", {"p"}, "f") +
      onnx_node("Gemm", {"f", "w2", "b2"}, "y", {{"transB", {1}}}) +
      onnx_weight("w1", {16, 3, 3, 3}) + onnx_weight("g", {16}) + onnx_weight("b", {16}) +
      onnx_weight("m", {16}) + onnx_weight("v", {16}) + onnx_weight("w2", {10, 16}) +
      onnx_weight("b2", {10}) + wire_bytes(12, onnx_value("y", {batch, 10})));
}

}  // namespace carpool::estimate
