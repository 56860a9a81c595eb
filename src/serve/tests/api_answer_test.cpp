#include "serve/api_answer.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

using nlohmann::json;

// In the order of the enumeration: a kind that is missing here fails the test below.
constexpr std::array kStatuses = {
    std::pair(ErrorCode::InvalidInput, 400),
    std::pair(ErrorCode::NotFound, 404),
    std::pair(ErrorCode::Conflict, 409),
    std::pair(ErrorCode::Unauthenticated, 401),
    std::pair(ErrorCode::Forbidden, 403),
    std::pair(ErrorCode::LimitReached, 429),
    std::pair(ErrorCode::Corrupt, 500),
    std::pair(ErrorCode::Unavailable, 503),
    std::pair(ErrorCode::Unsupported, 501),
    std::pair(ErrorCode::Internal, 500),
};

TEST(ApiAnswer, EveryErrorKindHasItsStatus) {
  ASSERT_EQ(kStatuses.size(), kErrorKinds.size());
  for (std::size_t i = 0; i < kErrorKinds.size(); ++i) {
    ASSERT_EQ(kStatuses[i].first, kErrorKinds[i].code) << kErrorKinds[i].word;
    EXPECT_EQ(http_status(kErrorKinds[i].code), kStatuses[i].second) << kErrorKinds[i].word;
  }
}

TEST(ApiAnswer, AnErrorArrivesAsItWasSent) {
  for (const ErrorKind& kind : kErrorKinds) {
    const ApiAnswer answer = error_answer(fail(kind.code, "why, and what to do"));
    const json error = json::parse(answer.body).at("error");
    EXPECT_EQ(error.at("status"), answer.status);
    EXPECT_EQ(error.at("kind"), kind.word);
    EXPECT_EQ(error.at("message"), "why, and what to do");
    EXPECT_EQ(answer.type, "application/json");
    const Error arrived = read_error(answer.status, answer.body);
    EXPECT_EQ(arrived.code, kind.code) << kind.word;
    EXPECT_EQ(arrived.message, "why, and what to do");
  }
}

TEST(ApiAnswer, ASenderThatNamesNoKindIsUnderstoodByItsStatus) {
  const char* old = R"({"error": {"status": 404, "message": "there is no job 7"}})";
  EXPECT_EQ(read_error(404, old).code, ErrorCode::NotFound);
  EXPECT_EQ(read_error(404, old).message, "there is no job 7");
  EXPECT_EQ(read_error(503, "").code, ErrorCode::Unavailable);
  EXPECT_EQ(read_error(503, "").message, "the server answered with status 503");
  EXPECT_EQ(read_error(413, "<html>").code, ErrorCode::InvalidInput);
  EXPECT_EQ(read_error(500, "[]").code, ErrorCode::Internal);
  EXPECT_EQ(read_error(502, R"({"error": "text"})").code, ErrorCode::Internal);
  EXPECT_EQ(read_error(403, R"({"error": {"kind": 5}})").code, ErrorCode::Forbidden);
  EXPECT_EQ(read_error(403, R"({"error": {"kind": "new"}})").code, ErrorCode::Forbidden);
}

TEST(ApiAnswer, AValueIsSentAsJson) {
  const ApiAnswer answer = json_answer(json{{"id", 3}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"id":3})");
  EXPECT_EQ(json_answer(Result<json>(conflict("busy"))).status, 409);
}

TEST(ApiAnswer, TextThatIsNotUtf8IsReplacedInsteadOfThrowing) {
  EXPECT_EQ(json_answer(json{{"name", "a\xff"}}).body, "{\"name\":\"a\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace carpool::serve
