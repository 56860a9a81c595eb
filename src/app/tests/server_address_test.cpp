#include "app/remote/server_address.hpp"

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using Scheme = ServerAddress::Scheme;

TEST(ServerAddress, HasSchemeHostAndPort) {
  EXPECT_EQ(parse_server_address("https://gpu1.lab.example:8470"),
            (ServerAddress{.scheme = Scheme::Https, .host = "gpu1.lab.example", .port = 8470}));
  EXPECT_EQ(parse_server_address("https://gpu1:8470/"),
            (ServerAddress{.scheme = Scheme::Https, .host = "gpu1", .port = 8470}));
  EXPECT_EQ(parse_server_address("http://[::1]:8470"),
            (ServerAddress{.scheme = Scheme::Http, .host = "::1", .port = 8470}));
  EXPECT_EQ(parse_server_address("ssh://gpu1"),
            (ServerAddress{.scheme = Scheme::Ssh, .host = "gpu1"}));
  EXPECT_EQ(parse_server_address("ssh://ann@gpu1:2222/srv/x/carpool.sock"),
            (ServerAddress{.scheme = Scheme::Ssh,
                           .host = "gpu1",
                           .port = 2222,
                           .user = "ann",
                           .socket = "/srv/x/carpool.sock"}));
}

TEST(ServerAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"https://gpu1:8470",
                           "http://[::1]:8470",
                           "ssh://gpu1",
                           "ssh://ann@gpu1:22",
                           "ssh://gpu1/run/carpool.sock"}) {
    const auto address = parse_server_address(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(address->text(), text);
  }
}

TEST(ServerAddress, AnythingElseIsRefusedWithWhatIsExpected) {
  for (const char* text : {"",
                           "gpu1",
                           "gpu1:8470",
                           "tcp://gpu1:8470",
                           "HTTPS://gpu1:8470",
                           "https://",
                           "https://gpu1",
                           "https://gpu1:",
                           "https://gpu1:0",
                           "https://gpu1:65536",
                           "https://gpu1:-1",
                           "https://gpu1:84x",
                           "https://gpu1:8470/v1",
                           "https://ann@gpu1:8470",
                           "https://@gpu1:8470",
                           "https://gpu 1:8470",
                           "https://gpu1\r\nX: y:8470",
                           "https://[gpu1]:8470",
                           "https://[::1:8470",
                           "ssh://",
                           "ssh://@gpu1",
                           "ssh://gpu1:x"}) {
    const auto address = parse_server_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(address.error().message.find("expected https://HOST:PORT"), std::string::npos);
  }
}

TEST(ServerAddress, NothingIsAnOptionOfSshOrHasAMeaningForAShell) {
  for (const char* text : {"ssh://-oProxyCommand=x",
                           "ssh://-oX@gpu1",
                           "ssh://gpu1;x",
                           "ssh://gpu1/a;b",
                           "ssh://gpu1/$(x)",
                           "ssh://gpu1/a b",
                           "ssh://gpu1/a'b",
                           "ssh://gpu1/`x`"}) {
    EXPECT_FALSE(parse_server_address(text)) << text;
  }
}

TEST(ServerAddress, OnlyLoopbackIsThisMachine) {
  for (const char* text :
       {"http://127.0.0.1:1", "http://127.9.9.9:1", "http://localhost:1", "http://[::1]:1"}) {
    EXPECT_TRUE(parse_server_address(text)->on_this_machine()) << text;
  }
  for (const char* text : {"http://10.0.0.1:1",
                           "http://127.example.com:1",
                           "http://localhost.example.com:1",
                           "http://[::2]:1",
                           "http://0.0.0.0:1"}) {
    EXPECT_FALSE(parse_server_address(text)->on_this_machine()) << text;
  }
}

}  // namespace
}  // namespace carpool::app
