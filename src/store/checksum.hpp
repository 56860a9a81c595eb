// Checksum of a stored row. It covers the identity of the journal and the name of the table, so
// that a row of another journal or table does not pass for one of this.
#pragma once

#include <cstdint>
#include <string_view>

namespace carpool::store {

// CRC-32 (ISO 3309) of some bytes, continuing from the checksum of those before.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

// Values are added in the order of the columns.
class RowSum {
 public:
  RowSum(std::string_view identity, std::string_view table);

  RowSum& add(std::int64_t value);
  RowSum& add(double value);
  RowSum& add(std::string_view value);
  RowSum& add_null();

  [[nodiscard]] std::int64_t value() const { return sum_; }

 private:
  void add_bytes(char kind, std::string_view bytes);
  std::uint32_t sum_;
};

}  // namespace carpool::store
