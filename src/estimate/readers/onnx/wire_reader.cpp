#include "estimate/readers/onnx/wire_reader.hpp"

namespace carpool::estimate {
namespace {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

}  // namespace

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = bytes.size(); index-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[index]);
  }
  return value;
}

std::optional<std::uint64_t> WireReader::varint() {
  constexpr unsigned kBits = 64;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kBits && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80U) {
      return value;
    }
  }
  damaged_ = true;
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t count) {
  if (count > rest_.size()) {
    damaged_ = true;
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::optional<WireField> WireReader::next() {
  if (damaged_ || rest_.empty()) {
    return std::nullopt;
  }
  const auto tag = varint();
  if (!tag) {
    return std::nullopt;
  }
  WireField field{.number = *tag >> 3U};
  std::optional<std::string_view> bytes;
  switch (static_cast<WireType>(*tag & 7U)) {
    case WireType::Varint: {
      const auto value = varint();
      field.value = value.value_or(0);
      return value ? std::optional(field) : std::nullopt;
    }
    case WireType::Bytes: {
      const auto length = varint();
      bytes = length ? take(*length) : std::nullopt;
      field.is_bytes = true;
      field.bytes = bytes.value_or(std::string_view());
      return bytes ? std::optional(field) : std::nullopt;
    }
    case WireType::Fixed64:
      bytes = take(8);
      break;
    case WireType::Fixed32:
      bytes = take(4);
      break;
    default:
      damaged_ = true;
  }
  if (!bytes) {
    return std::nullopt;
  }
  field.value = little_endian(*bytes);
  return field;
}

void append_numbers(const WireField& field, std::size_t most, std::vector<std::int64_t>& numbers) {
  if (!field.is_bytes) {
    if (numbers.size() < most) {
      numbers.push_back(static_cast<std::int64_t>(field.value));
    }
    return;
  }
  std::string_view rest = field.bytes;
  while (!rest.empty() && numbers.size() < most) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    bool more = true;
    while (more && !rest.empty() && shift < 64) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      shift += 7;
      more = byte >= 0x80U;
    }
    numbers.push_back(static_cast<std::int64_t>(value));
  }
}

}  // namespace carpool::estimate
