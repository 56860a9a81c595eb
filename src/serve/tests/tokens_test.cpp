#include "serve/access/tokens.hpp"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

TEST(Tokens, OnlyTheExactTokenOfABearerHeaderNamesItsUser) {
  const TokenTable tokens = {entry_of("0123456789abcdef", "ann"),
                             entry_of("fedcba9876543210", "bob")};
  EXPECT_EQ(user_of_token(tokens, "Bearer 0123456789abcdef"), "ann");
  EXPECT_EQ(user_of_token(tokens, "Bearer fedcba9876543210"), "bob");
  for (const std::string& header : {std::string(),
                                    std::string("Bearer "),
                                    std::string("Bearer 0123456789abcde"),
                                    std::string("Bearer 0123456789abcdef0"),
                                    std::string("Bearer 0123456789abcdeF"),
                                    std::string("Basic 0123456789abcdef"),
                                    std::string("0123456789abcdef"),
                                    "Bearer " + tokens.front().digest,
                                    "Bearer sha256:" + tokens.front().digest,
                                    "Bearer " + std::string(5000, 'x')}) {
    EXPECT_EQ(user_of_token(tokens, header), std::nullopt) << header;
  }
  EXPECT_EQ(user_of_token({}, "Bearer 0123456789abcdef"), std::nullopt);
}

TEST(Tokens, ANewTokenIsLongAndNeverTheSame) {
  const auto first = make_token();
  const auto second = make_token();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->size(), 72U);
  EXPECT_TRUE(first->starts_with("carpool_"));
  EXPECT_NE(*first, *second);
}

TEST(Tokens, TheFileHoldsDigestsAndNoToken) {
  const TokenTable tokens = {entry_of("a secret", "root"),
                             entry_of("another", std::string(kScrapeUser))};
  const std::string text = token_file_text(tokens);
  EXPECT_EQ(text.find("secret"), std::string::npos);
  // echo -n 'a secret' | sha256sum
  EXPECT_NE(text.find("sha256:984ca516220073"), std::string::npos) << text;
  EXPECT_EQ(parse_tokens(text, "tokens"), tokens);
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
  const std::string line_ = token_file_text({entry_of("0123456789abcdef", "root")});
  TemporaryFolder folder_;
};

TEST_F(TokenFile, HasADigestAndAUserPerLine) {
  const auto tokens = read_token_file(write("# comment\n\n" + line_));
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (TokenTable{entry_of("0123456789abcdef", "root")}));
}

TEST_F(TokenFile, IsRejectedWithItsLineAndWithoutItsContent) {
  const std::string digest = entry_of("0123456789abcdef", "root").digest;
  EXPECT_NE(problem("\nshort root\n").find("tokens:2: expected"), std::string::npos);
  for (const std::string& content : {std::string("0123456789abcdef root"),
                                     digest + " root",
                                     "sha256:" + digest,
                                     "sha256:" + digest + "0 root",
                                     "sha256:" + digest + " root more"}) {
    const std::string found = problem(content + "\n");
    EXPECT_NE(found.find("tokens:1: expected"), std::string::npos) << content;
    EXPECT_NE(found.find("carpool token create"), std::string::npos) << content;
    EXPECT_EQ(found.find(content.substr(0, 12)), std::string::npos) << content;
  }
}

TEST_F(TokenFile, MustBePrivateAndExist) {
  const auto shared = read_token_file(write(line_, 0640));
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().message.find("chmod 600"), std::string::npos);
  const auto missing = read_token_file(folder_.path() / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST_F(TokenFile, IsAPlainFileOfRootOrTheServerAndNoLink) {
  const auto file = write(line_);
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

TEST_F(TokenFile, IsReadAnewWhenItChangesAndRefusesEveryTokenWhileItIsBad) {
  TokenStore store(write(line_));
  EXPECT_EQ(store.user_of("Bearer 0123456789abcdef"), "root");
  const auto replace = [&](const std::string& content, mode_t mode) {
    std::filesystem::remove(folder_.path() / "tokens");
    write(content, mode);
  };
  replace("# revoked, and longer than before ............................................\n", 0600);
  EXPECT_EQ(store.user_of("Bearer 0123456789abcdef"), std::nullopt);
  replace(line_, 0644);
  EXPECT_EQ(store.user_of("Bearer 0123456789abcdef"), std::nullopt);
  EXPECT_FALSE(store.current());
  replace(line_, 0600);
  EXPECT_EQ(store.user_of("Bearer 0123456789abcdef"), "root");
  std::filesystem::remove(folder_.path() / "tokens");
  EXPECT_EQ(store.user_of("Bearer 0123456789abcdef"), std::nullopt);
}

}  // namespace
}  // namespace carpool::serve
