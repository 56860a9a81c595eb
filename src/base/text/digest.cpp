#include "base/text/digest.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

namespace carpool {

std::string sha256_hex(std::string_view content) {
  sha256_ctx context{};
  nettle_sha256_init(&context);
  nettle_sha256_update(
      &context, content.size(), reinterpret_cast<const std::uint8_t*>(content.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  nettle_sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::string base64_encode(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  nettle_base64_encode_raw(
      text.data(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  base64_decode_ctx context{};
  nettle_base64_decode_init(&context);
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  std::size_t length = bytes.size();
  const int ok = nettle_base64_decode_update(
      &context, &length, reinterpret_cast<std::uint8_t*>(bytes.data()), text.size(), text.data());
  if (ok != 1 || nettle_base64_decode_final(&context) != 1) {
    return fail(ErrorCode::Corrupt, "base64 text is broken or truncated");
  }
  bytes.resize(length);
  return bytes;
}

}  // namespace carpool
