#include "app/cli/exit_code.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "serve/api_answer.hpp"

namespace carpool::app {
namespace {

TEST(ExitCode, FollowsFromTheKind) {
  EXPECT_EQ(exit_code(ErrorCode::InvalidInput), 2);
  EXPECT_EQ(exit_code(ErrorCode::NotFound), 2);
  EXPECT_EQ(exit_code(ErrorCode::Conflict), 2);
  EXPECT_EQ(exit_code(ErrorCode::Forbidden), 1);
  EXPECT_EQ(exit_code(ErrorCode::Internal), 1);
  EXPECT_EQ(exit_code(ErrorCode::Unavailable), 69);
}

TEST(ErrorTable, OfTheApiPageHasARowForEveryKind) {
  std::ifstream file(CARPOOL_SOURCE_DIR "/docs/api.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const ErrorKind& kind : kErrorKinds) {
    const std::string row = fmt::format(
        "\n| `{}` | {} | {} |", kind.word, serve::http_status(kind.code), exit_code(kind.code));
    EXPECT_NE(page.find(row), std::string::npos) << "docs/api.md lacks the row " << row;
  }
}

}  // namespace
}  // namespace carpool::app
