// On which GPUs a decision may pause and resume jobs.
#include "schedule/turn_looks.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/gpus/workload_numbers.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

using Places = std::vector<std::size_t>;

Places taken(TurnLooks& looks, double now_s) {
  const auto places = looks.take(now_s);
  return {places.begin(), places.end()};
}

TEST(TurnLooks, FewGpusAreAllLookedAtInEveryDecision) {
  TurnLooks looks(3);
  EXPECT_EQ(taken(looks, 0.0), (Places{0, 1, 2}));
  looks.changed(Places{1});
  EXPECT_EQ(taken(looks, 1.0), (Places{0, 1, 2}));
}

TEST(TurnLooks, OfManyGpusThoseThatChangedThoseWhoseTimeHasComeAndSomeInRotation) {
  constexpr std::size_t kGpus = 100;
  TurnLooks looks(kGpus);
  EXPECT_EQ(looks.take(0.0).size(), TurnLooks::kInRotation);
  looks.changed(Places{70, 60, 70});
  looks.ask_again(80, 5.0);
  looks.ask_again(90, 6.0);
  EXPECT_EQ(looks.next_s(), 5.0);
  const Places now = taken(looks, 5.0);
  EXPECT_TRUE(std::ranges::is_sorted(now));
  EXPECT_EQ(now.size(), TurnLooks::kInRotation + 3);
  for (const std::size_t place : Places{16, 31, 60, 70, 80}) {
    EXPECT_TRUE(std::ranges::binary_search(now, place)) << place;
  }
  EXPECT_EQ(looks.next_s(), 6.0);  // what was asked about 80 was answered
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < kGpus / TurnLooks::kInRotation + 1; ++i) {
    const Places some = taken(looks, 5.0);
    EXPECT_EQ(some.size(), TurnLooks::kInRotation);
    all.insert(some.begin(), some.end());
  }
  EXPECT_EQ(all.size(), kGpus);
  looks.forget_times();
  EXPECT_EQ(looks.next_s(), std::nullopt);
}

TEST(TurnLooks, LaterAnswerReplacesTheEarlierOne) {
  TurnLooks looks(40);
  looks.ask_again(30, 5.0);
  looks.ask_again(30, 9.0);
  EXPECT_EQ(looks.next_s(), 9.0);
}

TEST(WorkloadNumbers, NamesInUseHaveNumbersOfTheirOwn) {
  WorkloadNumbers numbers;
  const std::uint32_t first = numbers.take("a");
  EXPECT_GT(first, 0U);
  EXPECT_EQ(numbers.take("a"), first);
  const std::uint32_t second = numbers.take("b");
  EXPECT_NE(second, first);
  numbers.give_back("a");
  EXPECT_EQ(numbers.take("a"), first);
  numbers.give_back("b");
  EXPECT_EQ(numbers.take("c"), second);  // numbers stay small
}

// Two jobs on each of 40 GPUs, seen there; no job waits.
TEST(TurnLooks, SchedulerAsksAboutGpusThatChangedOrWhoseTimeHasCome) {
  constexpr unsigned kGpus = 40;
  StubServer server(kGpus);
  for (unsigned i = 0; i < 2 * kGpus; ++i) {
    server.submit(stub_job(20));
  }
  server.step(0.0);
  for (unsigned gpu = 0; gpu < kGpus; ++gpu) {
    const auto& residents = server.scheduler->gpus()[gpu].residents;
    ASSERT_EQ(residents.size(), 2U);
    EXPECT_EQ(residents[0].workload_number, residents[1].workload_number);
    EXPECT_GT(residents[0].workload_number, 0U);
    server.see({{residents[0].job, 5}, {residents[1].job, 5}}, 1.0, gpu);
  }
  server.step(100.0);
  server.policy.turns_again = {{.place = 35, .after_s = 50.0}};
  server.pause(server.scheduler->gpus()[35].residents[1].job, 200.0);
  double now = 200.0;
  bool asked_in_time = false;
  for (int i = 0; i < 40 && server.scheduler->next_wakeup_s(); ++i) {
    now = std::max(now, *server.scheduler->next_wakeup_s());
    server.step(now);
    asked_in_time = asked_in_time || std::ranges::binary_search(server.policy.turns_at, 35U);
    EXPECT_LT(server.policy.turns_at.size(), kGpus);
    if (now >= 250.0) {
      break;
    }
  }
  EXPECT_TRUE(asked_in_time);
}

}  // namespace
}  // namespace carpool::schedule
