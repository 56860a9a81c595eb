// Which work of an SLO process is done after which wait, and which of its requests have ended.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/library/requests/open_requests.hpp"
#include "interpose/library/requests/work_order.hpp"

namespace carpool::interpose {
namespace {

// Two streams that do not wait for the legacy one and one that does, and two events.
class WorkOrderTest : public testing::Test {
 protected:
  static constexpr StreamKey kCompute = 0x3000;
  static constexpr StreamKey kCopies = 0x4000;
  static constexpr StreamKey kBlocking = 0x5000;
  static constexpr std::uint64_t kNone = 0;
  Handle a_ = reinterpret_cast<Handle>(0xa000);
  Handle b_ = reinterpret_cast<Handle>(0xb000);

  void launch(StreamKey stream, int launches = 1) {
    for (int i = 0; i < launches; ++i) {
      order_->launched(stream, now_);
    }
  }
  // The oldest launch that is left after a wait.
  std::uint64_t after(const Awaited& awaited) {
    const WorkOrder::Progress progress = order_->done(order_->reach_of(awaited), 0);
    EXPECT_EQ(progress.all_done(), !order_->works(0));
    return progress.all_done() ? kNone : progress.oldest;
  }
  std::uint64_t after(Handle event) {
    return after({.kind = Awaited::Kind::Event, .event = event});
  }
  std::uint64_t after(StreamKey stream) {
    return after({.kind = Awaited::Kind::Stream, .stream = stream});
  }
  static bool waits_for_legacy(StreamKey stream) { return stream == kBlocking; }
  std::uint64_t now_ = 1000;
  std::unique_ptr<WorkOrder> order_ = std::make_unique<WorkOrder>(&waits_for_legacy);
};

TEST_F(WorkOrderTest, AnEventCoversWhatItsStreamGotBefore) {
  launch(kCompute, 3);
  order_->recorded(a_, kCompute);
  launch(kCompute, 2);
  order_->recorded(b_, kCompute);
  EXPECT_EQ(after(a_), 4U);
  EXPECT_EQ(after(b_), kNone);
  EXPECT_EQ(after(a_), kNone) << "what is done stays done";
}

TEST_F(WorkOrderTest, AnEventIsBehindWorkUntilThatIsDone) {
  launch(kCompute);
  EXPECT_FALSE(order_->has_event_behind(0));
  order_->recorded(a_, kCompute);
  std::jthread([this] { launch(kCopies); }).join();
  EXPECT_EQ(after(kCopies), 1U);
  EXPECT_TRUE(order_->has_event_behind(0)) << "whatever other threads launch and wait for";
  EXPECT_FALSE(order_->has_event_behind(now_ + 1));
  launch(kCopies);
  EXPECT_FALSE(order_->has_event_behind(0)) << "the last launch of the thread has none";
  order_->recorded(b_, kCopies);
  EXPECT_TRUE(order_->has_event_behind(0));
  EXPECT_EQ(after(b_), 1U);
  EXPECT_FALSE(order_->has_event_behind(0));
}

TEST_F(WorkOrderTest, AnEventIsBehindTheLastLaunchOnItsOwnGpuOnly) {
  const auto other_gpu = std::make_unique<WorkOrder>(&waits_for_legacy);
  other_gpu->launched(kCompute, now_);
  launch(kCompute);  // the last one of the thread, with the same number and place
  other_gpu->recorded(a_, kCompute);
  EXPECT_FALSE(other_gpu->has_event_behind(0));
  order_->recorded(b_, kCompute);
  EXPECT_TRUE(order_->has_event_behind(0));
}

TEST_F(WorkOrderTest, AWaitSaysNothingOfOtherStreams) {
  launch(kCompute);
  launch(kCopies, 2);
  EXPECT_EQ(after(kCopies), 1U);
  EXPECT_EQ(after(kLegacyStream), 1U);
  launch(kCopies);
  EXPECT_EQ(after(kCompute), 4U);
  EXPECT_EQ(after(Awaited{}), kNone);
}

TEST_F(WorkOrderTest, AStreamCoversWhatItWaitedFor) {
  launch(kCompute, 3);
  launch(kBlocking);
  order_->recorded(a_, kCompute);
  order_->joined(kCopies, a_);
  launch(kCompute);
  EXPECT_EQ(after(kCopies), 4U) << "of an unrelated stream";
  order_->recorded(b_, kCopies);
  EXPECT_EQ(after(kCompute), 4U);
  EXPECT_EQ(after(b_), 4U);
  EXPECT_EQ(after(kBlocking), kNone);
  launch(kCompute);
  order_->recorded(b_, kCompute);
  order_->joined(kLegacyStream, b_);
  EXPECT_EQ(after(kLegacyStream), kNone);
}

TEST_F(WorkOrderTest, AStreamThatJoinsManyCoversAllOfThem) {
  constexpr StreamKey kStreams = 20;
  for (StreamKey stream = 1; stream <= kStreams; ++stream) {
    launch(0x10000 * stream, 2);
    order_->recorded(a_, 0x10000 * stream);
    order_->joined(kCompute, a_);
  }
  launch(kCompute);
  EXPECT_EQ(after(kCompute), kNone);
}

// As the auxiliary streams of a runtime, beside the work of another thread.
TEST_F(WorkOrderTest, AStreamThatJoinsSomeSaysNothingOfOthers) {
  constexpr StreamKey kStreams = 7;
  launch(kCopies);
  for (StreamKey stream = 1; stream <= kStreams; ++stream) {
    launch(0x10000 * stream, 2);
    order_->recorded(a_, 0x10000 * stream);
    order_->joined(kCompute, a_);
  }
  launch(kCompute);
  EXPECT_EQ(after(kCompute), 1U);
  for (StreamKey stream = 1; stream <= kStreams; ++stream) {
    EXPECT_EQ(after(0x10000 * stream), 1U);
  }
  EXPECT_EQ(after(kCopies), kNone);
}

TEST_F(WorkOrderTest, AStreamThatJoinsOthersInTurnSaysNothingOfTheRest) {
  constexpr StreamKey kStreams = 40;
  launch(kCopies);
  for (StreamKey stream = 1; stream <= kStreams; ++stream) {
    launch(0x10000 * stream);
    order_->recorded(a_, 0x10000 * stream);
    order_->joined(kCompute, a_);
    launch(kCompute);
    ASSERT_EQ(after(kCompute), 1U) << stream;
  }
}

// A copy in one of them, which is not followed, may have come last.
TEST_F(WorkOrderTest, TheLegacyStreamAndThoseThatWaitForItCoverEachOther) {
  launch(kBlocking);
  EXPECT_EQ(after(kLegacyStream), kNone);
  launch(kLegacyStream);
  EXPECT_EQ(after(kBlocking), kNone);
  launch(kLegacyStream);
  order_->recorded(a_, kBlocking);
  launch(kLegacyStream);
  EXPECT_EQ(after(a_), 4U);
  launch(kCompute);
  EXPECT_EQ(after(kLegacyStream), 5U) << "which does not wait for it";
  order_->recorded(b_, kCompute);
  order_->joined(kBlocking, b_);
  EXPECT_EQ(after(kLegacyStream), kNone) << "but waits for one that does";
}

TEST_F(WorkOrderTest, WorkThatIsNeverWaitedForDoesNotCountForEver) {
  launch(kCompute);
  now_ = 2000;
  launch(kCopies);
  EXPECT_EQ(after(kCopies), 1U);
  EXPECT_TRUE(order_->works(1000));
  EXPECT_FALSE(order_->works(1001));
  EXPECT_TRUE(order_->done({}, 1001).all_done());
  EXPECT_EQ(order_->done({}, 1000).oldest, 1U);
}

TEST_F(WorkOrderTest, EventsThatWereNotSeenCoverEverything) {
  launch(kCompute);
  launch(kCopies);
  EXPECT_EQ(after(b_), kNone);
}

// A program may keep any number of events, and a handle may be given again.
TEST_F(WorkOrderTest, NewEventsAreKnownHoweverManyThereAre) {
  std::vector<char> events(5000);  // each has an address
  for (std::size_t i = 0; i < events.size(); ++i) {
    launch(kCompute);
    order_->recorded(&events[i], kCompute);
    launch(kCopies);
    ASSERT_EQ(after(Handle{&events[i]}), 2 * i + 2) << "the other stream works";
    ASSERT_EQ(after(kCopies), kNone);
  }
  order_->event_destroyed(&events.back());
  launch(kCompute);
  EXPECT_EQ(after(Handle{&events.back()}), kNone) << "it is not known any more";
}

TEST_F(WorkOrderTest, StreamsThatFindNoPlaceCoverEverything) {
  constexpr StreamKey kMany = 2000;
  const auto stream = [](StreamKey number) { return 0x10000 + number * 0x100; };
  for (StreamKey number = 0; number < kMany; ++number) {
    launch(stream(number));
    order_->stream_destroyed(stream(number));
  }
  launch(kCompute);
  launch(kCopies);
  EXPECT_EQ(after(kCopies), kMany + 1) << "destroyed streams leave their place";
  EXPECT_EQ(after(kCompute), kNone);
  for (StreamKey number = 0; number < kMany; ++number) {
    launch(stream(number));
    ASSERT_EQ(after(stream(number)), kNone) << number;
  }
}

TEST_F(WorkOrderTest, ThreadsDoNotLoseEachOthersWork) {
  constexpr unsigned kThreads = 4;
  constexpr int kRounds = 20'000;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, stream = StreamKey{0x10000} * (thread + 1)] {
      for (int round = 0; round < kRounds; ++round) {
        order_->launched(stream, now_);
        order_->done(order_->reach_of({.kind = Awaited::Kind::Stream, .stream = stream}), 0);
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(order_->works(0));
  EXPECT_EQ(order_->launches(), std::uint64_t{kThreads} * kRounds);
}

class OpenRequestsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kNothingLeft = UINT64_MAX;
  using Ends = std::vector<std::uint64_t>;

  void add(std::uint64_t before, std::uint64_t last, std::uint64_t sign) {
    open_.add({.before = before, .last = last, .sign_ns = sign}, ended_);
  }
  void waited(std::uint64_t newest, std::uint64_t oldest, std::uint64_t now) {
    open_.waited(newest, oldest, now, ended_);
  }

  OpenRequests open_;
  Ends ends_;
  std::function<void(const OpenRequest&)> ended_ = [this](const OpenRequest& request) {
    ends_.push_back(request.sign_ns);
  };
};

TEST_F(OpenRequestsTest, ARequestEndsWithTheWaitForItsLastLaunch) {
  add(0, 4, 100);
  waited(3, 4, 150);
  EXPECT_EQ(ends_, Ends{});
  waited(4, 5, 200);
  EXPECT_EQ(ends_, Ends{200});
  waited(9, kNothingLeft, 300);
  EXPECT_EQ(ends_, Ends{200});
}

TEST_F(OpenRequestsTest, OneWhoseRestIsWaitedForWithLaterWorkHasEndedBefore) {
  add(0, 4, 100);
  waited(9, 5, 200);
  EXPECT_EQ(ends_, Ends{100});
}

TEST_F(OpenRequestsTest, ThoseOfSeveralThreadsEndInAnyOrder) {
  add(0, 1, 100);
  add(1, 3, 110);
  waited(3, 1, 120);
  EXPECT_EQ(ends_, Ends{120});
  waited(1, kNothingLeft, 130);
  EXPECT_EQ(ends_, (Ends{120, 130}));
}

TEST_F(OpenRequestsTest, OnesThatAreNeverWaitedForEnd) {
  for (std::uint64_t request = 0; request < 34; ++request) {
    add(request, request + 1, request);
  }
  EXPECT_EQ(ends_, (Ends{32, 33})) << "32 are kept";
  EXPECT_EQ(open_.expire(3, ended_), 3U) << "the last launch of them";
  EXPECT_EQ(ends_, (Ends{32, 33, 0, 1, 2}));
  EXPECT_EQ(open_.expire(3, ended_), 0U);
}

TEST_F(OpenRequestsTest, TheEarliestArrivalIsThatOfTheMostUrgent) {
  EXPECT_EQ(open_.earliest_ns(), 0U);
  open_.add({.arrival_ns = 20, .last = 1}, ended_);
  open_.add({.arrival_ns = 10, .before = 1, .last = 2}, ended_);
  EXPECT_EQ(open_.earliest_ns(), 10U);
  waited(2, 1, 30);
  EXPECT_EQ(open_.earliest_ns(), 20U);
}

}  // namespace
}  // namespace carpool::interpose
