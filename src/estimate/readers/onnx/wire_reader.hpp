// The wire format of Protocol Buffers, as far as ONNX needs it: the fields of one message in order,
// as views of the bytes. It terminates and stays within the bytes for any input.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace carpool::estimate {

struct WireField {
  std::uint64_t number = 0;
  bool is_bytes = false;     // length-delimited: text, a message, packed numbers
  std::uint64_t value = 0;   // of a varint or a fixed number
  std::string_view bytes{};  // of a length-delimited one
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // Nothing: the end, or damage; see damaged().
  [[nodiscard]] std::optional<WireField> next();
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  [[nodiscard]] std::optional<std::uint64_t> varint();
  [[nodiscard]] std::optional<std::string_view> take(std::uint64_t count);

  std::string_view rest_;
  bool damaged_ = false;
};

// The bytes as a little-endian number.
[[nodiscard]] std::uint64_t little_endian(std::string_view bytes);

// Appends the numbers of a repeated field, packed or single, up to `most` in all.
void append_numbers(const WireField& field, std::size_t most, std::vector<std::int64_t>& numbers);

}  // namespace carpool::estimate
