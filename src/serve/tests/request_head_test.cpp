#include "serve/http/request_head.hpp"

#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

// 200 where it is accepted.
int status_of(std::string_view head) {
  const auto checked = check_head(head);
  return checked ? 200 : checked.error().status;
}

TEST(RequestHead, KeepsTheLineAndTheHeadersThatTheApiUses) {
  const auto head = check_head(
      "POST /v1/jobs?x=1 HTTP/1.1\r\nHost: carpool\r\ncOnTent-LENGTH:  12 \r\nConnection: close\r\n"
      "Authorization: Bearer abc\r\nAccept-Encoding: gzip, br\r\nRange: bytes=0-0,0-0\r\n"
      "Content-Type: multipart/form-data; boundary=x\r\nExpect: 100-continue");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->text,
            "POST /v1/jobs?x=1 HTTP/1.1\r\nhost: carpool\r\nconnection: close\r\n"
            "Content-Length: 0\r\n\r\n");
  EXPECT_EQ(head->authorization, "Bearer abc");
  EXPECT_EQ(head->body_bytes, 12U);
  EXPECT_TRUE(head->expects_continue);
}

TEST(RequestHead, ARequestWithoutABodyNeedsALengthOnlyWhereABodyIsUsual) {
  EXPECT_EQ(status_of("GET / HTTP/1.1"), 200);
  EXPECT_EQ(status_of("DELETE / HTTP/1.1"), 200);
  EXPECT_EQ(status_of("POST / HTTP/1.1"), 411);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 0"), 200);
  EXPECT_EQ(status_of("PUT / HTTP/1.1\r\nHost: x"), 411);
}

TEST(RequestHead, BodiesThatGrowOnTheWayAreRefused) {
  const std::string line = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(status_of(line + "Transfer-Encoding: chunked"), 411);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked"), 411);
  EXPECT_EQ(status_of(line + "Transfer-Encoding: chunked\r\nContent-Length: 3"), 400);
  for (const char* encoding : {"gzip", "br", "deflate", "gzip, identity"}) {
    EXPECT_EQ(status_of(line + fmt::format("Content-Length: 3\r\nContent-Encoding: {}", encoding)),
              415);
  }
  EXPECT_EQ(status_of(line + "Content-Length: 3\r\nContent-Encoding: identity"), 200);
}

TEST(RequestHead, TheLengthIsOneNumberWithinTheLimit) {
  const auto with = [](std::string_view length) {
    return status_of(fmt::format("POST / HTTP/1.1\r\nContent-Length: {}", length));
  };
  EXPECT_EQ(with(fmt::format("{}", kMostBodyBytes)), 200);
  EXPECT_EQ(with(fmt::format("{}", kMostBodyBytes + 1)), 413);
  EXPECT_EQ(with("99999999999999999999999999"), 413);
  for (const char* bad : {"", "-1", "+1", "0x10", "1.5", "1 2", "1,1", "one"}) {
    EXPECT_EQ(with(bad), 400) << bad;
  }
  EXPECT_EQ(with("3\r\nContent-Length: 3"), 400);
}

TEST(RequestHead, LinesAndHeadersAreLimited) {
  EXPECT_EQ(status_of("GET /" + std::string(kLongestRequestLine, 'a') + " HTTP/1.1"), 414);
  std::string head = "GET / HTTP/1.1";
  for (std::size_t i = 0; i < kMostHeaders; ++i) {
    head += "\r\nX: y";
  }
  EXPECT_EQ(status_of(head), 200);
  EXPECT_EQ(status_of(head + "\r\nX: y"), 431);
}

TEST(RequestHead, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  for (const char* head : {"",
                           "GET / HTTP/1.1\r\nNo colon",
                           "GET / HTTP/1.1\r\nSpace : x",
                           "GET / HTTP/1.1\r\n folded: x",
                           "GET / HTTP/1.1\r\n: x",
                           "GET / HTTP/1.1\nHost: x",
                           "GET / HTTP/1.1\r\nA: b\rC: d",
                           "GET /\x01 HTTP/1.1"}) {
    EXPECT_EQ(status_of(head), 400) << head;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nExpect: the-unexpected"), 417);
}

}  // namespace
}  // namespace carpool::serve
