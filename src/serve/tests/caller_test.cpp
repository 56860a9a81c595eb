#include "serve/caller.hpp"

#include <sys/socket.h>
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

}  // namespace
}  // namespace carpool::serve
