// Memory sizes as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// For quotients.
inline constexpr auto kBytesPerMiB = static_cast<double>(kMiB);
inline constexpr auto kBytesPerGiB = static_cast<double>(kGiB);

// "12G", "12 GiB", "512M", "1.5g", "4096B"; K, M, G and T are powers of 1024, as drivers and
// schedulers take them. Above 0. A number without a unit is an error: 12 is not meant as bytes.
[[nodiscard]] Result<std::uint64_t> parse_memory_size(std::string_view text);

// "12 GiB", with one digit where it is not whole: "12.5 GiB".
[[nodiscard]] std::string gib_text(std::uint64_t bytes);

}  // namespace carpool
