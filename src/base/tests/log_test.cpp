#include "base/log.hpp"

#include <cstdlib>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Log, AMessageIsOneLineOfText) {
  testing::internal::CaptureStderr();
  log_error("job \"x\ncarpool: info: forged\033[2J\" failed");
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged, "carpool: error: job \"x\\ncarpool: info: forged\\x1b[2J\" failed\n");
}

// As systemd names it for a service whose standard error is the journal.
void say_that_stderr_is_the_journal() {
  struct stat status{};
  ::fstat(STDERR_FILENO, &status);
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
}

// Each in a process of its own, because the stream is looked at once.
TEST(LogDeathTest, TheJournalGetsThePriorityOfAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        say_that_stderr_is_the_journal();
        log_warning("low on space");
        log_error("no space");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "^<4>low on space\n<3>no space\n$");
}

TEST(LogDeathTest, AnotherStreamThanThatOfTheJournalGetsPlainText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("JOURNAL_STREAM", "1:1", 1);
        log_warning("low on space");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "^carpool: warning: low on space\n$");
}

}  // namespace
}  // namespace carpool
