// Requests of an SLO client: how they are found, what is left of them, what they waited before.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/gate/queue_wait.hpp"
#include "interpose/gate/quiet_time.hpp"
#include "interpose/gate/request_detector.hpp"
#include "interpose/gate/service_time.hpp"
#include "interpose/gate/slack.hpp"

namespace carpool::interpose::gate {
namespace {

TEST(GateRequests, BeginWithALaunchAfterIdleAndEndAfterTheQuietTime) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000});
  EXPECT_EQ(detector.phase(0), RequestPhase::Idle);
  EXPECT_TRUE(detector.launched(100, 1000));
  EXPECT_FALSE(detector.launched(100, 1050));  // works until 1200
  EXPECT_EQ(detector.phase(1199), RequestPhase::Busy);
  EXPECT_EQ(detector.phase(1200), RequestPhase::Quiet);
  EXPECT_EQ(detector.idle_at(1200), 1300);
  EXPECT_EQ(detector.take_end(1299), RequestEnd::None);
  EXPECT_EQ(detector.take_end(1300), RequestEnd::Finished);
  EXPECT_EQ(detector.finished_at(), 1200);
  EXPECT_EQ(detector.take_end(1400), RequestEnd::None);  // told once
  EXPECT_TRUE(detector.launched(100, 2000));
}

TEST(GateRequests, LastAsLongAsTheWorkThatWasLaunched) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000});
  EXPECT_TRUE(detector.launched(5000, 0));  // one long graph, then silence
  EXPECT_EQ(detector.phase(4999), RequestPhase::Busy);
  detector.finished(0, 3000);
  EXPECT_EQ(detector.phase(3000), RequestPhase::Idle);
}

// Its kernels wait behind others: the request has not ended because their time is over.
TEST(GateRequests, LastUntilReportedWorkIsDone) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 100000, .reports = true});
  EXPECT_TRUE(detector.launched(100, 0));
  EXPECT_FALSE(detector.launched(100, 10));
  detector.finished(1, 5000);
  EXPECT_EQ(detector.phase(6000), RequestPhase::Busy);
  detector.finished(0, 7000);
  EXPECT_EQ(detector.take_end(7000), RequestEnd::Finished);
  EXPECT_EQ(detector.finished_at(), 7000);
}

TEST(GateRequests, OfASilentClientLapse) {
  RequestDetector detector({.quiet_ns = 250, .lease_ns = 1000});
  detector.began(0);
  EXPECT_EQ(detector.phase(999), RequestPhase::Busy);
  EXPECT_EQ(detector.phase(1000), RequestPhase::Idle);
  EXPECT_EQ(detector.take_end(1000), RequestEnd::Lapsed);
  detector.began(5000);
  detector.alive(5900);
  EXPECT_EQ(detector.phase(6800), RequestPhase::Busy);
  detector.ended(6850);
  EXPECT_EQ(detector.phase(6850), RequestPhase::Idle);
  EXPECT_EQ(detector.take_end(7000), RequestEnd::None);
}

TEST(GateSlack, IsTheDeadlineLessWhatIsLeftToDo) {
  RequestBook book;
  book.began(1000, 1000 + 10 * kMillisecond);
  EXPECT_EQ(book.slack(1000), 10 * kMillisecond);  // nothing is known of its work yet
  book.submitted(4 * kMillisecond);
  EXPECT_EQ(book.slack(1000), 6 * kMillisecond);
  book.finished(kMillisecond);
  EXPECT_EQ(book.remaining(), 3 * kMillisecond);
  EXPECT_EQ(book.slack(1000 + 8 * kMillisecond), -kMillisecond);
  EXPECT_EQ(book.ended(1000 + 5 * kMillisecond), 5 * kMillisecond);

  // The second request is expected to take what the first one took (4 and 5 ms, rounded up by a
  // sixteenth at most), gaps between launches included.
  book.began(kSecond, kSecond + 10 * kMillisecond);
  EXPECT_GE(book.remaining(), 5 * kMillisecond);
  EXPECT_LE(book.remaining(), 5 * kMillisecond * 17 / 16);
  book.submitted(2 * kMillisecond);
  book.finished(2 * kMillisecond);
  EXPECT_GE(book.remaining(), 2 * kMillisecond);
  EXPECT_LE(book.remaining(), 5 * kMillisecond * 17 / 32 + kMillisecond / 4);
}

TEST(GateSlack, ExpectsTheNextRequestOnlyIfArrivalsAreRegular) {
  RequestBook regular;
  RequestBook irregular;
  for (int i = 0; i < 40; ++i) {
    regular.began(kMillisecond * 10 * i, kNever);
    irregular.began(kMillisecond * 10 * (i + (i % 2 == 0 ? 0 : 3)), kNever);
  }
  const Nanoseconds due = 400 * kMillisecond;
  EXPECT_LE(regular.next_arrival(), due);
  EXPECT_GE(regular.next_arrival(), due - kMillisecond);
  EXPECT_EQ(irregular.next_arrival(), kNever);
}

TEST(GateQueueWait, ARequestThatFollowsAnotherAtOnceHasWaited) {
  QueueWait wait(kMillisecond);
  EXPECT_EQ(wait.began(0), 0);
  wait.ended(8 * kMillisecond, 8 * kMillisecond);
  EXPECT_EQ(wait.began(9 * kMillisecond), 0);  // after a pause
  wait.ended(17 * kMillisecond, 8 * kMillisecond);
  const Nanoseconds waited = wait.began(17 * kMillisecond + 1);
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, 8 * kMillisecond);
}

// Requests of 3 ms come by a Poisson process; the program answers one after the other.
class PoissonQueue {
 public:
  explicit PoissonQueue(double load) : between_(load / 3e6) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      arrival_ += between_(random_);
      const bool queued = arrival_ < free_;
      const auto start = static_cast<Nanoseconds>(queued ? free_ + 5e3 : arrival_);
      const Nanoseconds waited = guess_.began(start);
      free_ = static_cast<double>(start) + 3e6;
      guess_.ended(static_cast<Nanoseconds>(free_), waited + 3 * kMillisecond);
      true_.push_back(free_ - arrival_);
      guessed_.push_back(static_cast<double>(waited) + 3e6);
    }
  }
  // The guessed quantile as a part of the true one.
  [[nodiscard]] double guessed_of_true(double quantile) {
    std::ranges::sort(true_);
    std::ranges::sort(guessed_);
    const auto at = static_cast<std::size_t>(quantile * static_cast<double>(true_.size()));
    return guessed_[at] / true_[at];
  }

 private:
  std::mt19937_64 random_{7};
  std::exponential_distribution<double> between_;
  QueueWait guess_{250 * kMicrosecond};
  double arrival_ = 0.0;
  double free_ = 0.0;
  std::vector<double> true_;
  std::vector<double> guessed_;
};

TEST(GateQueueWait, TheTailOfGuessedLatenciesIsThatOfTheTrueOnes) {
  for (const double load : {0.1, 0.2, 0.4, 0.5}) {
    PoissonQueue queue(load);
    queue.run(20'000);
    for (const double quantile : {0.5, 0.9, 0.95, 0.99}) {
      EXPECT_NEAR(queue.guessed_of_true(quantile), 1.0, 0.15) << load << " " << quantile;
    }
  }
}

TEST(GateQueueWait, AProgramWithoutPausesSendsOneRequestAfterTheOther) {
  QueueWait wait(kMillisecond);
  Nanoseconds now = 0;
  Nanoseconds waited = 0;
  for (int i = 0; i < 40; ++i) {
    waited = wait.began(now);
    now += 8 * kMillisecond;
    wait.ended(now, 8 * kMillisecond);
  }
  EXPECT_EQ(waited, 0);
}

TEST(GateServiceTime, IsTheMeanOfTheLastRequestsAndOfTheirSquares) {
  ServiceTime service;
  for (int i = 0; i < 20; ++i) {
    service.add(kSecond);  // loads kernels
  }
  EXPECT_EQ(service.mean_ns(), 0U);
  for (int i = 0; i < 100; ++i) {
    service.add(i % 2 == 0 ? 3 * kMillisecond : 5 * kMillisecond);
  }
  EXPECT_NEAR(static_cast<double>(service.mean_ns()), 4e6, 1e3);
  EXPECT_NEAR(static_cast<double>(service.mean_square_us2()), 17e6, 1e4);
  for (int i = 0; i < 3000; ++i) {
    service.add(kMillisecond);
  }
  EXPECT_NEAR(static_cast<double>(service.mean_ns()), 1e6, 1e3);
  service.add(-kSecond);        // a clock that went back
  service.add(1000 * kSecond);  // more than any request takes
  EXPECT_LT(service.mean_ns(), 1'000'000'000U);
}

TEST(GateQuietTime, IsALittleLongerThanShortPauses) {
  QuietTime quiet(250 * kMicrosecond);
  EXPECT_EQ(quiet.value(), 250 * kMicrosecond);
  for (int i = 0; i < 31; ++i) {
    quiet.paused(60 * kMicrosecond);
    quiet.paused(9 * kMillisecond);  // between requests
  }
  EXPECT_EQ(quiet.value(), 250 * kMicrosecond);  // too few are known
  quiet.paused(60 * kMicrosecond);
  EXPECT_GT(quiet.value(), 80 * kMicrosecond);
  EXPECT_LT(quiet.value(), 100 * kMicrosecond);
}

TEST(GateQuietTime, FollowsLongerPausesAndStaysWithinItsLimits) {
  QuietTime quiet(250 * kMicrosecond);
  for (int i = 0; i < 100; ++i) {
    quiet.paused(5 * kMicrosecond);  // of a program that loads its model
  }
  EXPECT_EQ(quiet.value(), 40 * kMicrosecond);
  for (int i = 0; i < 30; ++i) {
    quiet.paused(120 * kMicrosecond);
  }
  EXPECT_GT(quiet.value(), 170 * kMicrosecond);
  EXPECT_LT(quiet.value(), 200 * kMicrosecond);
  for (int i = 0; i < 100; ++i) {
    quiet.paused(240 * kMicrosecond);
  }
  EXPECT_EQ(quiet.value(), 250 * kMicrosecond);
}

}  // namespace
}  // namespace carpool::interpose::gate
