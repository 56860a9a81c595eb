#include "base/log.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Log, AMessageIsOneLineOfText) {
  testing::internal::CaptureStderr();
  log_error("job \"x\ncarpool: info: forged\033[2J\" failed");
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged, "carpool: error: job \"x\\ncarpool: info: forged\\x1b[2J\" failed\n");
}

}  // namespace
}  // namespace carpool
