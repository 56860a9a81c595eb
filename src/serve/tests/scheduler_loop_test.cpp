#include "serve/scheduler_loop.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::serve {
namespace {

class SchedulerLoopTest : public testing::Test {
 protected:
  [[nodiscard]] static JobSpec spec() {
    JobSpec job;
    job.argv = {"true"};
    job.mem_bytes = schedule::kGiB;
    return job;
  }

  schedule::StubJournal journal_;
  schedule::StubExecutor executor_;
  schedule::StubInterference interference_;
  schedule::StubPolicy policy_;
  schedule::Scheduler scheduler_{{},
                                 {GpuView{.memory_bytes = 40 * schedule::kGiB}},
                                 policy_,
                                 interference_,
                                 journal_,
                                 executor_};
};

TEST_F(SchedulerLoopTest, AnswersComeAfterTheJournalAndManyShareACommit) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  constexpr int kCallers = 8;
  constexpr int kJobs = 25;
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < kJobs; ++i) {
        const auto id = (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
          return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
        });
        EXPECT_TRUE(id);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  (*loop)->stop();
  const auto submitted = std::ranges::count_if(journal_.events, [](const JobEvent& event) {
    return std::holds_alternative<JobSubmitted>(event.what);
  });
  EXPECT_EQ(submitted, kCallers * kJobs);
  EXPECT_FALSE((*loop)->failure());
}

TEST_F(SchedulerLoopTest, AfterAStopWorkIsUnavailable) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  (*loop)->stop();
  const Result<void> late = (*loop)->perform([](schedule::Scheduler&, double) { FAIL(); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Unavailable);
}

TEST_F(SchedulerLoopTest, TimeNeverGoesBack) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  std::atomic<double> clock{100.0};
  auto loop = SchedulerLoop::start(scheduler_, {.clock = [&] { return clock.load(); }});
  ASSERT_TRUE(loop);
  EXPECT_EQ((*loop)->now_s(), 100.0);
  clock = 50.0;
  EXPECT_EQ((*loop)->now_s(), 100.0);
  clock = 101.0;
  EXPECT_EQ((*loop)->now_s(), 101.0);
}

TEST_F(SchedulerLoopTest, AJournalThatFailsEndsTheLoopAndNothingIsAcknowledged) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  journal_.failing = true;
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  const auto id = (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
    return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
  });
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(id.error().message, "the scheduler has stopped: the disk is full");
  ASSERT_TRUE((*loop)->failure());
  EXPECT_FALSE((*loop)->perform([](schedule::Scheduler&, double) {}));
}

TEST_F(SchedulerLoopTest, AnExceptionEndsTheLoopAndNotTheProcess) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  const Result<void> failed =
      (*loop)->perform([](schedule::Scheduler&, double) { throw std::bad_alloc(); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::Unavailable);
  ASSERT_TRUE((*loop)->failure());
}

TEST_F(SchedulerLoopTest, AFullDiskIsWaitedOutAndNothingIsAcknowledgedMeanwhile) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  journal_.full = true;
  const auto submit = [&] {
    return (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
      return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
    });
  };
  std::atomic<bool> answered = false;
  std::thread waiting([&] {
    EXPECT_EQ(submit().value_or(0), 1);
    answered = true;
  });
  while (!(*loop)->stalled()) {
    std::this_thread::yield();
  }
  const auto refused = submit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_NE(refused.error().message.find("the disk is full"), std::string::npos);
  EXPECT_FALSE(answered);
  EXPECT_FALSE((*loop)->failure());
  journal_.full = false;
  waiting.join();
  EXPECT_FALSE((*loop)->stalled());
  EXPECT_EQ(submit().value_or(0), 2) << "the refused request left nothing behind";
  (*loop)->stop();
}

// A look that shares a turn with a change does not wait for it.
TEST_F(SchedulerLoopTest, AFullDiskAnswersLooksAtOnce) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  // A look and a change that ask at the same time do not always share a turn: then once more.
  constexpr int kAttempts = 100;
  constexpr std::int64_t kNone = -1;
  bool shared = false;
  for (int attempt = 0; attempt < kAttempts && !shared; ++attempt) {
    journal_.full = true;
    std::atomic<int> asking = 0;
    std::int64_t turn_of_change = kNone;
    std::int64_t turn_of_look = kNone;
    const auto this_turn = [&] { return static_cast<std::int64_t>((*loop)->turns()); };
    (*loop)->post(PostTopic::Gpus, [&](schedule::Scheduler&, double) {
      while (asking < 2) {
        std::this_thread::yield();
      }
      for (int i = 0; i < 20'000 * (attempt + 1); ++i) {
        std::this_thread::yield();
      }
    });
    auto change = std::async(std::launch::async, [&] {
      ++asking;
      return (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
        turn_of_change = this_turn();
        return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
      });
    });
    auto look = std::async(std::launch::async, [&] {
      ++asking;
      return (*loop)->perform([&](schedule::Scheduler&, double) { turn_of_look = this_turn(); });
    });
    const bool answered = look.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    journal_.full = false;
    EXPECT_TRUE(answered);
    const Result<void> seen = look.get();
    const Result<JobId> changed = change.get();
    // A change that came later than the look's full disk was refused.
    EXPECT_EQ(changed.has_value(), turn_of_change != kNone);
    shared = turn_of_look != kNone && turn_of_look == turn_of_change;
    if (shared) {
      ASSERT_FALSE(seen);
      EXPECT_EQ(seen.error().code, ErrorCode::Unavailable);
    }
  }
  EXPECT_TRUE(shared);
  (*loop)->stop();
}

// What is posted only once, as that the disk has space again, would else never be known.
TEST_F(SchedulerLoopTest, AFullDiskKeepsTheLatestPostOfEachTopic) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  journal_.full = true;
  auto change = std::async(std::launch::async, [&] {
    return (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
      return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
    });
  });
  while (!(*loop)->stalled()) {
    std::this_thread::yield();
  }
  std::vector<std::string> done;
  const auto post = [&](PostTopic topic, const char* name) {
    (*loop)->post(topic, [&done, name](schedule::Scheduler&, double) { done.emplace_back(name); });
  };
  post(PostTopic::Disk, "disk full");
  post(PostTopic::Gpus, "first reading");
  post(PostTopic::Disk, "space again");
  post(PostTopic::Gpus, "last reading");
  const std::uint64_t turns = (*loop)->turns();
  while ((*loop)->turns() < turns + 2) {  // until the journal was tried, and refused, once more
    std::this_thread::yield();
  }
  journal_.full = false;
  EXPECT_TRUE(change.get());
  EXPECT_TRUE((*loop)->perform([](schedule::Scheduler&, double) {}));
  EXPECT_EQ(done, (std::vector<std::string>{"space again", "last reading"}));
  (*loop)->stop();
}

TEST_F(SchedulerLoopTest, AFullDiskDoesNotKeepTheLoopFromStopping) {
  ASSERT_TRUE(scheduler_.recover(0.0));
  auto loop = SchedulerLoop::start(scheduler_, {});
  ASSERT_TRUE(loop);
  journal_.full = true;
  std::thread waiting([&] {
    const auto id = (*loop)->ask<JobId>([&](schedule::Scheduler& scheduler, double now_s) {
      return scheduler.submit(spec(), {.uid = 1, .user = "ann"}, now_s);
    });
    EXPECT_FALSE(id) << "it is not durable";
  });
  while (!(*loop)->stalled()) {
    std::this_thread::yield();
  }
  (*loop)->stop();
  waiting.join();
}

}  // namespace
}  // namespace carpool::serve
