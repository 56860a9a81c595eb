#include "base/text/digest.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool {
namespace {

// FIPS 180-2, example of appendix B.1.
TEST(Digest, Sha256OfKnownText) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, Base64RoundTripsEveryLength) {
  std::string bytes;
  for (int length = 0; length < 20; ++length) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes.push_back(static_cast<char>(length * 37));
  }
}

TEST(Digest, BrokenBase64IsCorrupt) {
  const auto decoded = base64_decode("abc$");
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace carpool
