#include "base/text/web_address.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(WebAddress, HasHostPortAndPath) {
  EXPECT_EQ(parse_web_address("https://hooks.example.org/services/T0/B1?x=1"),
            (WebAddress{.host = "hooks.example.org", .port = 443, .path = "/services/T0/B1?x=1"}));
  EXPECT_EQ(parse_web_address("http://127.0.0.1:8080"),
            (WebAddress{.tls = false, .host = "127.0.0.1", .port = 8080}));
  EXPECT_EQ(parse_web_address("http://gpu1?job"),
            (WebAddress{.tls = false, .host = "gpu1", .port = 80, .path = "/?job"}));
  EXPECT_EQ(parse_web_address("https://[::1]:1/a"),
            (WebAddress{.host = "::1", .port = 1, .path = "/a"}));
}

TEST(WebAddress, TheNameOfTheServiceHasNoPath) {
  EXPECT_EQ(parse_web_address("https://a.example/secret")->service(), "https://a.example");
  EXPECT_EQ(parse_web_address("http://[::1]:81/secret")->service(), "http://[::1]:81");
}

TEST(WebAddress, AnythingElseIsRefusedWithWhatIsExpected) {
  for (const char* text : {"",
                           "gpu1",
                           "ftp://gpu1",
                           "HTTP://gpu1",
                           "https:/gpu1",
                           "https://",
                           "https:///path",
                           "https://:80",
                           "https://gpu1:",
                           "https://gpu1:0",
                           "https://gpu1:65536",
                           "https://gpu1:80x",
                           "https://ann:secret@gpu1/",
                           "https://gpu1/a b",
                           "https://gpu1/a#b",
                           "https://gpu1/\r\nX: y",
                           "https://g\xc3\xbc/",
                           "https://[gpu1]/",
                           "https://[::1"}) {
    const auto address = parse_web_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(address.error().message.find("expected https://HOST"), std::string::npos) << text;
  }
}

TEST(WebAddress, ACommandHasNoScheme) {
  EXPECT_TRUE(has_scheme("https://a"));
  EXPECT_TRUE(has_scheme("htps://a"));
  EXPECT_TRUE(has_scheme("S3://a"));
  for (const char* command :
       {"", "mail ann", "curl -d x https://a", "://a", "https:/a", "X=https://a curl", "./a://b"}) {
    EXPECT_FALSE(has_scheme(command)) << command;
  }
}

}  // namespace
}  // namespace carpool
