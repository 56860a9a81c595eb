#include "gpu/nvml/owner_thread.hpp"

#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::gpu {
namespace {

TEST(OwnerThread, DoesEveryCallOnOneThreadThatIsNotTheCallers) {
  OwnerThread owner;
  const auto thread_id = [] { return std::this_thread::get_id(); };
  const std::thread::id first = owner.call(thread_id);
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_EQ(owner.call(thread_id), first);
}

TEST(OwnerThread, AnswersEveryOneOfManyCallersWithItsOwnResult) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 500;
  OwnerThread owner;
  int done = 0;  // only touched by the owner
  std::vector<int> wrong(kThreads, 0);
  {
    std::vector<std::jthread> callers;
    callers.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      callers.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i) {
          const int sent = t * kCalls + i;
          const int got = owner.call([&] {
            ++done;
            return sent;
          });
          wrong[static_cast<std::size_t>(t)] += got == sent ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(owner.call([&] { return done; }), kThreads * kCalls);
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

TEST(OwnerThread, AnExceptionReachesTheCallerAndTheThreadGoesOn) {
  OwnerThread owner;
  EXPECT_THROW((void)owner.call([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(owner.call([] { return 7; }), 7);
}

TEST(OwnerThread, HandsResultsOverThatCanOnlyBeMoved) {
  OwnerThread owner;
  EXPECT_EQ(*owner.call([] { return std::make_unique<int>(7); }), 7);
}

TEST(FakeTelemetry, MayBeAskedAndSetByManyThreadsAtOnce) {
  FakeTelemetry fake(two_fake_gpus());
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&fake, t] {
        for (unsigned i = 0; i < 200; ++i) {
          fake.set_sample(t % 2, {.memory_used_bytes = i});
          fake.advance(std::chrono::milliseconds(1));
          EXPECT_TRUE(fake.sample(t % 2).has_value());
          EXPECT_TRUE(fake.activity(t % 2).has_value());
        }
      });
    }
  }
  EXPECT_EQ(fake.sample(0)->at_ns, 800'000'000);
}

}  // namespace
}  // namespace carpool::gpu
