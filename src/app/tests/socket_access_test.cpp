#include "app/server/socket_access.hpp"

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

const SocketFacts outsider{
    .socket = "/run/carpool/carpool.sock", .user = "alice", .owner = "root", .group = "carpool"};

TEST(SocketAccess, TellsANonMemberWhatToAskFor) {
  EXPECT_EQ(no_access_text(outsider),
            "user alice is not a member of the group carpool, which may use the server on "
            "/run/carpool/carpool.sock: ask an administrator to run `usermod -aG carpool alice`, "
            "then log in again");
}

TEST(SocketAccess, TellsANewMemberToLogInAgain) {
  SocketFacts facts = outsider;
  facts.member = true;
  EXPECT_EQ(no_access_text(facts),
            "user alice is a member of the group carpool, which may use the server on "
            "/run/carpool/carpool.sock, but this session began before that: log in again, or run "
            "`newgrp carpool`");
}

TEST(SocketAccess, TellsWhomAPersonalServerServes) {
  SocketFacts facts = outsider;
  facts.group.clear();
  facts.owner = "bob";
  EXPECT_EQ(no_access_text(facts),
            "the server on /run/carpool/carpool.sock serves user bob only: name another one with "
            "--socket");
  facts.reachable = false;
  EXPECT_NE(no_access_text(facts).find("may not enter the folder"), std::string::npos);
}

TEST(SocketAccess, HasNoProblemWithASocketThatDoesNotExist) {
  EXPECT_FALSE(access_problem("/no/such/socket"));
}

}  // namespace
}  // namespace carpool::app
