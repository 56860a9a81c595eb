#include "store/checksum.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace carpool::store {
namespace {

constexpr std::size_t kLanes = 8;  // bytes that one round takes ("slicing by 8")
using CrcTables = std::array<std::array<std::uint32_t, 256>, kLanes>;

constexpr CrcTables crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    tables[0][byte] = value;
  }
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[lane - 1][byte];
      tables[lane][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr CrcTables kCrc = crc_tables();

template <class Number>
std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  while (bytes.size() >= kLanes) {
    std::array<std::uint32_t, 2> words{};
    std::memcpy(words.data(), bytes.data(), kLanes);
    const std::uint32_t low = words[0] ^ sum;
    const std::uint32_t high = words[1];
    sum = kCrc[7][low & 0xFFU] ^ kCrc[6][(low >> 8U) & 0xFFU] ^ kCrc[5][(low >> 16U) & 0xFFU] ^
          kCrc[4][low >> 24U] ^ kCrc[3][high & 0xFFU] ^ kCrc[2][(high >> 8U) & 0xFFU] ^
          kCrc[1][(high >> 16U) & 0xFFU] ^ kCrc[0][high >> 24U];
    bytes.remove_prefix(kLanes);
  }
  for (const char byte : bytes) {
    sum = (sum >> 8U) ^ kCrc[0][(sum ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~sum;
}

RowSum::RowSum(std::string_view identity, std::string_view table) : sum_(crc32(identity)) {
  add(table);
}

RowSum& RowSum::add(std::int64_t value) {
  add_bytes('i', bytes_of(value));
  return *this;
}

RowSum& RowSum::add(double value) {
  // SQLite does not keep the sign of zero.
  const double stored = value == 0.0 ? 0.0 : value;
  add_bytes('r', bytes_of(stored));
  return *this;
}

RowSum& RowSum::add(std::string_view value) {
  add_bytes('t', value);
  return *this;
}

RowSum& RowSum::add_null() {
  add_bytes('n', {});
  return *this;
}

void RowSum::add_bytes(char kind, std::string_view bytes) {
  const auto size = static_cast<std::uint64_t>(bytes.size());
  sum_ = crc32(bytes, crc32(bytes_of(size), crc32({&kind, 1}, sum_)));
}

}  // namespace carpool::store
