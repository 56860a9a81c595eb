#include "base/process/stop_signals.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(StopSignals, NoneHasArrivedAtFirst) {
  StopSignals signals;
  EXPECT_FALSE(signals.came());
  EXPECT_FALSE(signals.wait_for(std::chrono::microseconds(1)));
}

TEST(StopSignals, EachIsNoticedAndRemembered) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    StopSignals signals;
    ASSERT_EQ(::raise(signal), 0);
    EXPECT_TRUE(signals.wait_for(std::chrono::hours(1)));
    EXPECT_TRUE(signals.came());
  }
}

TEST(StopSignals, AnIgnoredSignalStaysIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    StopSignals signals;
    ASSERT_EQ(::raise(SIGHUP), 0);
    EXPECT_FALSE(signals.came());
  }
  ::signal(SIGHUP, before);
}

TEST(StopSignals, AfterwardsTheMaskIsAsBefore) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const StopSignals signals;
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&before, SIGINT), ::sigismember(&after, SIGINT));
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
}

}  // namespace
}  // namespace carpool
