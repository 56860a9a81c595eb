#include "serve/http/listening.hpp"

#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

ErrorCode code_of(const Result<Descriptor>& socket) {
  return socket ? ErrorCode::Internal : socket.error().code;
}

class Listening : public testing::Test {
 protected:
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()),
                      std::filesystem::directory_iterator()));
  }

  TemporaryFolder folder_;
  std::filesystem::path socket_ = folder_.path() / "s";
};

TEST_F(Listening, TheSocketIsTheOnlyThingThatIsMade) {
  ASSERT_TRUE(listen_on_socket(socket_, std::nullopt));
  struct stat status{};
  ASSERT_EQ(::lstat(socket_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Listening, AGroupHasAccessFromTheBeginning) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a socket to any group";
  }
  ASSERT_TRUE(listen_on_socket(socket_, "nogroup"));
  struct stat status{};
  ASSERT_EQ(::lstat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  EXPECT_EQ(status.st_gid, 65534U);
}

TEST_F(Listening, ASocketThatADeadServerLeftIsReplaced) {
  {
    ASSERT_TRUE(listen_on_socket(socket_, std::nullopt));
  }
  ASSERT_TRUE(std::filesystem::exists(socket_));
  EXPECT_TRUE(listen_on_socket(socket_, std::nullopt));
}

TEST_F(Listening, NothingButOurOwnSocketIsReplaced) {
  std::ofstream(socket_) << "precious";
  EXPECT_EQ(code_of(listen_on_socket(socket_, std::nullopt)), ErrorCode::Conflict);
  EXPECT_EQ(std::filesystem::file_size(socket_), 8U);
  std::filesystem::remove(socket_);

  const auto target = folder_.path() / "elsewhere";
  std::filesystem::create_symlink(target, socket_);
  EXPECT_EQ(code_of(listen_on_socket(socket_, std::nullopt)), ErrorCode::Conflict);
  EXPECT_TRUE(std::filesystem::is_symlink(socket_));
  EXPECT_FALSE(std::filesystem::exists(target));
  std::filesystem::remove(socket_);

  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can make a socket of another user";
  }
  {
    ASSERT_TRUE(listen_on_socket(socket_, std::nullopt));
  }
  ASSERT_EQ(::lchown(socket_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(code_of(listen_on_socket(socket_, std::nullopt)), ErrorCode::Conflict);
  EXPECT_TRUE(std::filesystem::exists(socket_));
}

TEST_F(Listening, AFolderThatOthersCanWriteToIsRefused) {
  for (const mode_t mode : {mode_t{0777}, mode_t{01777}, mode_t{0770}}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    const auto refused = listen_on_socket(socket_, std::nullopt);
    EXPECT_EQ(code_of(refused), ErrorCode::InvalidInput) << mode;
    EXPECT_NE(refused.error().message.find(folder_.path().string()), std::string::npos);
    EXPECT_EQ(entries(), 0U);
  }
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_TRUE(listen_on_socket(socket_, std::nullopt));
}

TEST_F(Listening, AFolderBelowOneThatOthersCanWriteToIsRefused) {
  const auto inner = folder_.path() / "inner";
  ASSERT_EQ(::mkdir(inner.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_EQ(code_of(listen_on_socket(inner / "s", std::nullopt)), ErrorCode::InvalidInput);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);  // like /tmp: `inner` cannot be replaced
  EXPECT_TRUE(listen_on_socket(inner / "s", std::nullopt));
}

TEST_F(Listening, TheUmaskStaysAsItIs) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(listen_on_socket(socket_, std::nullopt));
  EXPECT_EQ(::umask(before), 022U);
}

TEST_F(Listening, RejectsBadAddresses) {
  EXPECT_EQ(code_of(listen_on_socket("/tmp/" + std::string(200, 'x'), std::nullopt)),
            ErrorCode::InvalidInput);
  EXPECT_EQ(code_of(listen_on_socket(folder_.path() / "none" / "s", std::nullopt)),
            ErrorCode::NotFound);
  EXPECT_EQ(code_of(listen_on_tcp("8470")), ErrorCode::InvalidInput);
  EXPECT_EQ(code_of(listen_on_tcp("localhost:8470")), ErrorCode::InvalidInput);  // not a number
  EXPECT_EQ(code_of(listen_on_tcp("127.0.0.1:http")), ErrorCode::InvalidInput);
  EXPECT_EQ(code_of(listen_on_socket(socket_, "no such group")), ErrorCode::NotFound);
  EXPECT_EQ(entries(), 0U);
}

TEST(TcpAddress, OnlyLoopbackAddressesAreOfThisMachineAlone) {
  for (const char* local : {"127.0.0.1:8470", "127.5.6.7:1", "[::1]:8470"}) {
    EXPECT_EQ(is_loopback(local), true) << local;
  }
  for (const char* open :
       {"0.0.0.0:8470", "10.0.0.1:8470", "[::]:8470", "[::ffff:127.0.0.1]:8470", "128.0.0.1:1"}) {
    EXPECT_EQ(is_loopback(open), false) << open;
  }
  for (const char* bad : {"8470", "localhost:8470", ":8470", "127.0.0.1:http"}) {
    const Result<bool> refused = is_loopback(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidInput);
  }
}

}  // namespace
}  // namespace carpool::serve
