#include "run/supervisor_order.hpp"

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

std::string order_with(const std::string& more) {
  return R"({"folder": "/r/1.1", "run": "1.1", "argv": ["a"], "cwd": "/", "env": {}, "user": "u", "home": "/", "journal": "j", )" +
         more + "}";
}

TEST(SupervisorOrder, IsReadAsItWasWritten) {
  const SupervisorOrder order{
      .folder = "/r/17.1",
      .run = "17.1",
      .argv = {"python", "a b.py"},
      .cwd = "/data/ann",
      .env = {{"A", "B"}},
      .become_uid = 4294967294U,
      .gid = 100,
      .user = "ann",
      .mps = MpsPlace{.gpu_uuid = "GPU-1", .folder = "/m", .users = "/m/u"}};
  const auto again = read_order(write_order(order));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_order(*again), write_order(order));
}

TEST(SupervisorOrder, AUserNumberThatDoesNotFitIsAnErrorAndNotRoot) {
  for (const char* number : {"4294967296", "-1", "1e300", "0.5", "\"0\"", "null"}) {
    EXPECT_FALSE(read_order(order_with(std::string(R"("gid": 0, "become_uid": )") + number)))
        << number;
    EXPECT_FALSE(read_order(order_with(std::string(R"("gid": )") + number))) << number;
  }
  EXPECT_TRUE(read_order(order_with(R"("gid": 0, "become_uid": 0)")));
}

}  // namespace
}  // namespace carpool::run
