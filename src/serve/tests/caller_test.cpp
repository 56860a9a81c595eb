#include "serve/caller.hpp"

#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/process/descriptor.hpp"
#include "serve/http/listening.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

constexpr std::uint32_t kNoSuchUser = 3'999'999'999;

TEST(Caller, TheKernelTellsTheUserAtTheOtherEndOfASocket) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor here(ends[0]);
  const Descriptor there(ends[1]);
  EXPECT_EQ(peer_of(here.get()), ::geteuid());
  const Result<std::uint32_t> no_socket = peer_of(-1);
  ASSERT_FALSE(no_socket);
  EXPECT_EQ(no_socket.error().code, ErrorCode::Internal);
}

TEST(Caller, RootAndTheUserOfTheServerAreOperatorsAndOthersAreNot) {
  EXPECT_TRUE(make_caller(0, 500, std::nullopt).operates);
  EXPECT_TRUE(make_caller(500, 500, std::nullopt).operates);
  EXPECT_FALSE(make_caller(kNoSuchUser, 500, std::nullopt).operates);
  EXPECT_FALSE(make_caller(kNoSuchUser, 500, "root").operates);
  EXPECT_EQ(make_caller(0, 500, std::nullopt).user, "root");
}

TEST(Caller, MembersOfTheOperatorsGroupAreOperators) {
  EXPECT_TRUE(in_group(0, "root"));
  EXPECT_FALSE(in_group(0, "no such group"));
  EXPECT_FALSE(in_group(kNoSuchUser, "root"));
}

TEST(Caller, ChangesOnlyItsOwnJobsUnlessItIsAnOperator) {
  const JobOwner ann{.uid = caller_ann.uid, .user = caller_ann.user};
  EXPECT_TRUE(caller_ann.may_touch(ann));
  EXPECT_FALSE(caller_bob.may_touch(ann));
  EXPECT_TRUE(caller_operator.may_touch(ann));
}

TEST(Caller, NamesAndNumbersOfUsersAreLookedUp) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(kNoSuchUser), "3999999999");
  EXPECT_EQ(user_id("root"), 0U);
  EXPECT_EQ(user_id("no such user").error().code, ErrorCode::NotFound);
  EXPECT_EQ(group_id("root"), 0U);
  EXPECT_EQ(group_id("no such group").error().code, ErrorCode::NotFound);
  EXPECT_NE(group_id("nogrp").error().message.find("groupadd --system nogrp"), std::string::npos);
}

TEST(Tokens, OnlyTheExactTokenOfABearerHeaderNamesItsUser) {
  const TokenTable tokens = {{"0123456789abcdef", "ann"}, {"fedcba9876543210", "bob"}};
  EXPECT_EQ(user_of_token(tokens, "Bearer 0123456789abcdef"), "ann");
  EXPECT_EQ(user_of_token(tokens, "Bearer fedcba9876543210"), "bob");
  for (const char* header : {"",
                             "Bearer ",
                             "Bearer 0123456789abcde",
                             "Bearer 0123456789abcdef0",
                             "Bearer 0123456789abcdeF",
                             "Basic 0123456789abcdef",
                             "0123456789abcdef"}) {
    EXPECT_EQ(user_of_token(tokens, header), std::nullopt) << header;
  }
  EXPECT_EQ(user_of_token({}, "Bearer 0123456789abcdef"), std::nullopt);
}

class TokenFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& content, mode_t mode = 0600) {
    const std::filesystem::path file = folder_.path() / "tokens";
    std::ofstream(file) << content;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }
  // What is wrong with a file of that content.
  std::string problem(const std::string& content) {
    const auto tokens = read_token_file(write(content));
    return tokens ? std::string() : tokens.error().message;
  }
  TestFolder folder_;
};

TEST_F(TokenFile, HasATokenAndAUserPerLine) {
  const auto tokens = read_token_file(write("# comment\n\n0123456789abcdef root\n"));
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (TokenTable{{"0123456789abcdef", "root"}}));
}

TEST_F(TokenFile, IsRejectedWithItsLine) {
  EXPECT_NE(problem("\nshort root\n").find("tokens:2: expected"), std::string::npos);
  EXPECT_NE(problem("0123456789abcdef\n").find("tokens:1: expected"), std::string::npos);
  EXPECT_NE(problem("0123456789abcdef root more\n").find("tokens:1: expected"), std::string::npos);
  EXPECT_NE(problem("0123456789abcdef nosuchuser\n").find("tokens:1: there is no user"),
            std::string::npos);
}

TEST_F(TokenFile, MustBePrivateAndExist) {
  const auto shared = read_token_file(write("0123456789abcdef root\n", 0640));
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().message.find("chmod 600"), std::string::npos);
  const auto missing = read_token_file(folder_.path() / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST_F(TokenFile, IsAPlainFileOfRootOrTheServerAndNoLink) {
  const auto file = write("0123456789abcdef root\n");
  const auto link = folder_.path() / "link";
  std::filesystem::create_symlink(file, link);
  const auto linked = read_token_file(link);
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("symbolic link"), std::string::npos);
  const auto pipe = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_token_file(pipe));  // and it is not waited for
  EXPECT_FALSE(read_token_file(folder_.path()));
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file to another user";
  }
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  const auto foreign = read_token_file(file);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("chown"), std::string::npos);
}

}  // namespace
}  // namespace carpool::serve
