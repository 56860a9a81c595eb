#include "serve/event_hub.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

constexpr std::chrono::milliseconds kNow{0};

JobEvent event(std::int64_t sequence, JobId job) {
  return {.sequence = sequence, .job = job, .what = JobHeld{}};
}

TEST(EventHub, AWatcherSeesOwnEventsOnlyAndAnOperatorAll) {
  EventHub hub;
  hub.publish(event(1, 7), {.uid = 10, .user = "ann"});
  hub.publish(event(2, 8), {.uid = 20, .user = "bob"});
  std::int64_t seen = 0;
  const auto anns = hub.after(seen, {.uid = 10}, kNow);
  ASSERT_TRUE(anns);
  ASSERT_EQ(anns->size(), 1U);
  EXPECT_EQ(anns->front().kind, "held");
  EXPECT_EQ(seen, 2);
  std::int64_t first = 0;
  EXPECT_EQ(hub.after(first, {.uid = 30, .operates = true}, kNow)->size(), 2U);
  EXPECT_TRUE(hub.after(first, {.uid = 30, .operates = true}, kNow)->empty());
}

TEST(EventHub, NothingOfACommandIsBroadcast) {
  EventHub hub;
  JobSpec spec;
  spec.argv = {"secret"};
  hub.publish({.sequence = 1, .job = 1, .what = JobSubmitted{.spec = spec}}, {.uid = 1});
  std::int64_t seen = 0;
  const auto news = hub.after(seen, {.uid = 1}, kNow);
  ASSERT_TRUE(news);
  ASSERT_EQ(news->size(), 1U);
  EXPECT_NE(news->front().data.find("submitted"), std::string::npos);
  EXPECT_EQ(news->front().data.find("secret"), std::string::npos);
}

TEST(EventHub, OnlyTheLatestAreKept) {
  EventHub hub;
  for (std::int64_t i = 1; i <= static_cast<std::int64_t>(EventHub::kKept) + 5; ++i) {
    hub.publish(event(i, 1), {});
  }
  std::int64_t seen = 0;
  const auto first = hub.after(seen, {.operates = true}, kNow);
  EXPECT_EQ(first->front().sequence, 6);
  std::size_t count = first->size();
  for (auto more = hub.after(seen, {.operates = true}, kNow); !more->empty();
       more = hub.after(seen, {.operates = true}, kNow)) {
    count += more->size();
  }
  EXPECT_EQ(count, EventHub::kKept);
}

TEST(EventHub, AWatcherWhoMissedManyGetsThemInParts) {
  EventHub hub;
  for (std::int64_t i = 1; i <= static_cast<std::int64_t>(EventHub::kMostAtOnce) + 5; ++i) {
    hub.publish(event(i, 1), {.uid = 1});
  }
  std::int64_t seen = 0;
  const auto part = hub.after(seen, {.uid = 1}, kNow);
  EXPECT_EQ(part->size(), EventHub::kMostAtOnce);
  EXPECT_EQ(seen, part->back().sequence);
  EXPECT_EQ(hub.after(seen, {.uid = 1}, kNow)->size(), 5U);
}

TEST(EventHub, APauseEndsWhenTheHubIsClosed) {
  EventHub hub;
  EXPECT_TRUE(hub.pause(kNow));
  const std::jthread closing([&] { hub.close(); });
  EXPECT_FALSE(hub.pause(std::chrono::hours(1)));
}

TEST(EventHub, AUserHasALimitedNumberOfWatchers) {
  EventHub hub;
  for (unsigned i = 0; i < EventHub::kMostWatchers; ++i) {
    EXPECT_TRUE(hub.enter(1));
  }
  EXPECT_FALSE(hub.enter(1));
  EXPECT_TRUE(hub.enter(2));
  hub.leave(1);
  EXPECT_TRUE(hub.enter(1));
}

TEST(EventHub, AWatcherThatWaitsIsWokenByAnEvent) {
  EventHub hub;
  std::int64_t seen = 0;
  std::optional<std::vector<PublishedEvent>> news;
  std::thread watcher([&] { news = hub.after(seen, {.uid = 10}, std::chrono::hours(1)); });
  hub.publish(event(1, 7), {.uid = 10, .user = "ann"});
  watcher.join();
  ASSERT_TRUE(news);
  ASSERT_EQ(news->size(), 1U);
  EXPECT_EQ(news->front().sequence, 1);
  EXPECT_EQ(hub.last(), 1);
}

TEST(EventHub, ClosingEndsEveryWait) {
  EventHub hub;
  std::thread watcher([&] {
    std::int64_t seen = 0;
    EXPECT_FALSE(hub.after(seen, {}, std::chrono::hours(1)));
  });
  hub.close();
  watcher.join();
  std::int64_t seen = 0;
  EXPECT_FALSE(hub.after(seen, {}, std::chrono::hours(1)));
}

}  // namespace
}  // namespace carpool::serve
