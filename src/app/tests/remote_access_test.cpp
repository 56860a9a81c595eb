#include "app/remote/remote_access.hpp"

#include <cstdlib>
#include <fstream>
#include <openssl/x509_vfy.h>
#include <string>
#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "app/remote/remote_words.hpp"
#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

class RemoteAccessTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"CARPOOL_TOKEN_FILE",
                             "CARPOOL_CA_FILE",
                             "CARPOOL_PLAIN_HTTP",
                             "CARPOOL_REMOTE_PROGRAM",
                             "CARPOOL_HOST"}) {
      ::unsetenv(name);
    }
    ::setenv("CARPOOL_TOKEN_FILE", file_.c_str(), 1);
    write("carpool_0123abc\n", 0600);
  }
  void TearDown() override {
    ::unsetenv("CARPOOL_TOKEN_FILE");
    ::unsetenv("CARPOOL_PLAIN_HTTP");
    ::unsetenv("CARPOOL_HOST");
  }
  void write(const std::string& content, mode_t mode) {
    std::ofstream(file_) << content;
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
  }
  static std::string problem(const std::string& host) {
    const auto access = remote_access(host);
    return access ? std::string() : access.error().message;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "token";
};

TEST_F(RemoteAccessTest, TheTokenIsOneLineOfAPrivateFile) {
  const auto access = remote_access("https://gpu1:8470");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->token, "carpool_0123abc");
  for (const mode_t mode : {0604U, 0640U, 0644U, 0660U}) {
    write("carpool_0123abc\n", mode);
    EXPECT_NE(problem("https://gpu1:8470").find("chmod 600"), std::string::npos) << mode;
  }
  for (const char* content : {"", "\n", "two words\n", "two\nlines\n", "a\r\nX-Header: b\n"}) {
    write(content, 0600);
    EXPECT_NE(problem("https://gpu1:8470").find("does not hold one token"), std::string::npos);
  }
  std::filesystem::remove(file_);
  EXPECT_NE(problem("https://gpu1:8470").find("carpool token create"), std::string::npos);
}

TEST_F(RemoteAccessTest, PlainHttpLeavesThisMachineOnlyWhenAllowed) {
  EXPECT_EQ(problem("http://127.0.0.1:8470"), "");
  EXPECT_NE(problem("http://gpu1:8470").find("CARPOOL_PLAIN_HTTP=1"), std::string::npos);
  ::setenv("CARPOOL_PLAIN_HTTP", "0", 1);
  EXPECT_NE(problem("http://gpu1:8470"), "");
  ::setenv("CARPOOL_PLAIN_HTTP", "1", 1);
  EXPECT_EQ(problem("http://gpu1:8470"), "");
}

TEST_F(RemoteAccessTest, SshNeedsNoToken) {
  std::filesystem::remove(file_);
  EXPECT_EQ(problem("ssh://gpu1"), "");
}

TEST_F(RemoteAccessTest, TheSocketOfTheCommandLineGoesFirst) {
  EXPECT_EQ(remote_host({}), std::nullopt);
  ::setenv("CARPOOL_HOST", "ssh://gpu1", 1);
  EXPECT_EQ(remote_host({}), "ssh://gpu1");
  EXPECT_EQ(remote_host({.socket = "/run/x"}), std::nullopt);
}

TEST(SshCommand, AsksNothingAndForwardsNothing) {
  const RemoteAccess access{
      .address = {
          .scheme = ServerAddress::Scheme::Ssh, .host = "gpu1", .port = 2222, .user = "ann"}};
  EXPECT_EQ(fmt::format("{}", fmt::join(ssh_command(access), " ")),
            "ssh -T -a -x -o BatchMode=yes -o ClearAllForwardings=yes -o LogLevel=ERROR -p 2222 -l "
            "ann -- gpu1 carpool relay");
}

TEST(CertificateProblem, SaysWhatToDo) {
  const RemoteAccess access{.address = {.host = "gpu1", .port = 8470}};
  EXPECT_NE(
      certificate_problem(access, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT).find("CARPOOL_CA_FILE"),
      std::string::npos);
  EXPECT_NE(certificate_problem(access, X509_V_ERR_CERT_HAS_EXPIRED).find("renews it"),
            std::string::npos);
  EXPECT_NE(certificate_problem(access, X509_V_OK).find("another name than gpu1"),
            std::string::npos);
}

}  // namespace
}  // namespace carpool::app
