#include <csignal>

#include <gtest/gtest.h>

#include "interpose/guard/admission.hpp"
#include "interpose/guard/checked_word.hpp"
#include "interpose/guard/memory_guard.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

class StateGuardTest : public testing::Test {
 protected:
  // A client and its guard.
  struct Member {
    Client client;
    MemoryGuard guard{client};
  };
  void join(Member& member, const Membership& membership) const {
    ASSERT_EQ(folder_.join(member.client, membership), StateError::None);
  }
  void set_gpu(std::uint64_t total, std::uint64_t headroom) const {
    ASSERT_EQ(folder_.reader().set_gpu_memory(total, headroom), StateError::None);
  }
  StateFolder folder_;
};

TEST_F(StateGuardTest, JobsLimitHoldsForAllItsProcessesTogether) {
  Member first;
  Member second;
  Member other;
  join(first, {.job = 1, .limit_bytes = 10 * kMiB});
  join(second, {.job = 1, .limit_bytes = 99 * kMiB});  // the first one's terms apply
  join(other, {.job = 2});
  EXPECT_EQ(first.guard.charge(6 * kMiB), Verdict::Admitted);
  EXPECT_EQ(other.guard.charge(100 * kMiB), Verdict::Admitted);
  EXPECT_EQ(second.guard.charge(5 * kMiB), Verdict::OverLimit);
  EXPECT_EQ(second.guard.charge(4 * kMiB), Verdict::Admitted);
  EXPECT_EQ(second.guard.view().job_used, 10 * kMiB);
  EXPECT_EQ(second.guard.view().available, 0U);
  EXPECT_EQ(first.guard.release(6 * kMiB), 6 * kMiB);
  EXPECT_EQ(second.guard.view().available, 6 * kMiB);
  const StateReport report = folder_.report();
  EXPECT_EQ(report.clients[1].allocations, 1U);
  EXPECT_EQ(report.clients[1].refusals, 1U);
  EXPECT_EQ(report.clients[0].peak_bytes, 6 * kMiB);
  EXPECT_EQ(report.jobs[0].used_bytes, 4 * kMiB);
  EXPECT_EQ(report.jobs[0].clients, 2U);
}

TEST_F(StateGuardTest, LimitChangesWhileTheJobRuns) {
  StateReader server = folder_.reader();
  ASSERT_EQ(server.set_limits(1, {.limit_bytes = 10 * kMiB}), StateError::None);
  Member member;
  join(member, {.job = 1});
  EXPECT_EQ(member.guard.charge(8 * kMiB), Verdict::Admitted);
  ASSERT_EQ(server.set_limits(1, {.limit_bytes = 4 * kMiB}), StateError::None);
  EXPECT_EQ(member.guard.charge(1), Verdict::OverLimit);
  EXPECT_EQ(member.guard.view().available, 0U);
  EXPECT_EQ(member.guard.release(5 * kMiB), 5 * kMiB);
  EXPECT_EQ(member.guard.charge(kMiB), Verdict::Admitted);
  ASSERT_EQ(server.set_limits(1, {.limit_bytes = 20 * kMiB}), StateError::None);
  EXPECT_EQ(member.guard.charge(16 * kMiB), Verdict::Admitted);
  // The entry of the server stays without clients, and ends when it is told.
  member.client.leave();
  EXPECT_EQ(folder_.report().jobs.size(), 1U);
  ASSERT_EQ(server.remove_job(1), StateError::None);
  EXPECT_TRUE(folder_.report().jobs.empty());
}

TEST_F(StateGuardTest, BestEffortLeavesWhatIsGuaranteed) {
  set_gpu(100 * kMiB, 10 * kMiB);
  StateReader server = folder_.reader();
  // The job has not started yet: all of its guarantee is unfilled.
  ASSERT_EQ(server.set_limits(1, {.job_class = JobClass::Slo, .guarantee_bytes = 40 * kMiB}),
            StateError::None);
  Member filler;
  join(filler, {.job = 2});
  EXPECT_EQ(filler.guard.view().available, 50 * kMiB);
  EXPECT_EQ(filler.guard.charge(51 * kMiB), Verdict::KeptForGuarantees);
  EXPECT_EQ(filler.guard.charge(50 * kMiB), Verdict::Admitted);
  EXPECT_EQ(filler.guard.charge(41 * kMiB), Verdict::OverTotal);
  Member promised;
  join(promised, {.job = 1, .job_class = JobClass::Slo});
  EXPECT_EQ(promised.guard.charge(30 * kMiB), Verdict::Admitted);
  EXPECT_EQ(filler.guard.charge(1), Verdict::KeptForGuarantees);
  EXPECT_EQ(promised.guard.charge(10 * kMiB), Verdict::Admitted);
  EXPECT_EQ(promised.guard.charge(1), Verdict::OverTotal);
  // Beyond its guarantee a job of class SLO takes what is free.
  EXPECT_EQ(filler.guard.release(5 * kMiB), 5 * kMiB);
  EXPECT_EQ(promised.guard.view().available, 5 * kMiB);
  EXPECT_EQ(promised.guard.charge(5 * kMiB), Verdict::Admitted);
}

TEST_F(StateGuardTest, BestEffortJobGetsItsOwnGuarantee) {
  set_gpu(100 * kMiB, 0);
  Member promised;
  Member grown;
  join(promised, {.job = 1, .guarantee_bytes = 30 * kMiB});
  join(grown, {.job = 2, .job_class = JobClass::Slo, .guarantee_bytes = 60 * kMiB});
  EXPECT_EQ(promised.guard.view().available, 40 * kMiB);
  EXPECT_EQ(promised.guard.charge(41 * kMiB), Verdict::KeptForGuarantees);
  EXPECT_EQ(promised.guard.charge(30 * kMiB), Verdict::Admitted);
}

TEST_F(StateGuardTest, ForeignMemoryCounts) {
  set_gpu(100 * kMiB, 0);
  ASSERT_EQ(folder_.reader().set_foreign(95 * kMiB), StateError::None);
  Member member;
  join(member, {});
  EXPECT_EQ(member.guard.charge(6 * kMiB), Verdict::OverTotal);
  EXPECT_EQ(member.guard.charge(5 * kMiB), Verdict::Admitted);
}

TEST_F(StateGuardTest, ContextsCountAsUsedByTheirJob) {
  set_gpu(100 * kMiB, 0);
  Member member;
  Member other;
  join(member, {.job = 1, .limit_bytes = 50 * kMiB});
  join(other, {.job = 2, .limit_bytes = 90 * kMiB});
  ASSERT_EQ(folder_.reader().set_context(member.client.id(), 10 * kMiB), StateError::None);
  EXPECT_EQ(member.guard.view().available, 40 * kMiB);
  EXPECT_EQ(member.guard.charge(41 * kMiB), Verdict::OverLimit);
  EXPECT_EQ(member.guard.charge(40 * kMiB), Verdict::Admitted);
  EXPECT_EQ(other.guard.view().available, 50 * kMiB);  // the GPU has no more
  // It grows over the limit: nothing more is admitted until enough was freed.
  ASSERT_EQ(folder_.reader().set_context(member.client.id(), 15 * kMiB), StateError::None);
  EXPECT_EQ(member.guard.view().available, 0U);
  EXPECT_EQ(member.guard.release(40 * kMiB), 40 * kMiB);
  EXPECT_EQ(member.guard.view().available, 35 * kMiB);
  const StateReport report = folder_.report();
  EXPECT_EQ(report.clients[0].used_bytes, 0U);
  EXPECT_EQ(report.clients[0].context_bytes, 15 * kMiB);
  EXPECT_EQ(report.jobs[0].used_bytes, 15 * kMiB);
}

TEST_F(StateGuardTest, ContextOfAClientThatHasGoneCountsForNobody) {
  Member member;
  join(member, {.job = 1});
  const ClientId gone = member.client.id();
  ASSERT_EQ(folder_.reader().set_context(gone, kMiB), StateError::None);
  member.client.leave();
  Member next;
  join(next, {.job = 1});
  ASSERT_EQ(next.client.id().slot, gone.slot);
  EXPECT_EQ(next.guard.view().job_used, 0U);
  ASSERT_EQ(folder_.reader().set_context(gone, kMiB), StateError::None);  // it comes too late
  EXPECT_EQ(next.guard.view().job_used, 0U);
  EXPECT_EQ(folder_.report().used_bytes, 0U);
}

TEST_F(StateGuardTest, ForeignMemoryIsForgottenWithTheLastClient) {
  set_gpu(100 * kMiB, 0);
  Member first;
  join(first, {});
  ASSERT_EQ(folder_.reader().set_foreign(95 * kMiB), StateError::None);
  Member second;
  join(second, {});
  EXPECT_EQ(second.guard.view().available, 5 * kMiB);
  first.client.leave();
  second.client.leave();
  Member third;
  join(third, {});
  EXPECT_EQ(third.guard.view().available, 100 * kMiB);
}

TEST_F(StateGuardTest, TotalOfTheDriverIsKept) {
  Member member;
  join(member, {});
  member.client.tell_total_memory(100 * kMiB);
  member.client.tell_total_memory(1);
  EXPECT_EQ(member.guard.view().gpu_total, 100 * kMiB);
}

TEST_F(StateGuardTest, ReleaseNeverTakesMoreThanIsThere) {
  Member member;
  join(member, {});
  EXPECT_EQ(member.guard.charge(3 * kMiB), Verdict::Admitted);
  EXPECT_EQ(member.guard.release(5 * kMiB), 3 * kMiB);
  EXPECT_EQ(member.guard.release(1), 0U);
  EXPECT_EQ(folder_.report().used_bytes, 0U);
}

TEST_F(StateGuardTest, RequestBeyondAllMeasureIsRefusedAndCountsNothing) {
  Member member;
  join(member, {});
  EXPECT_EQ(member.guard.charge(~std::uint64_t{0}), Verdict::OverTotal);
  EXPECT_EQ(member.guard.charge(std::uint64_t{1} << 47U), Verdict::OverTotal);
  EXPECT_EQ(folder_.report().used_bytes, 0U);
}

TEST_F(StateGuardTest, RequestOfAKilledProcessDoesNotBlockOthers) {
  Member member;
  join(member, {.job = 1, .limit_bytes = 10 * kMiB});
  const pid_t child = start_process([&] {
    Client client;
    const bool joined = folder_.join(client, {.job = 1}) == StateError::None;
    client.slot().memory.asking.fetch_add(8 * kMiB);  // killed while it asks
    return joined ? ::raise(SIGKILL) : 1;
  });
  status_of(child);
  EXPECT_EQ(member.guard.charge(10 * kMiB), Verdict::Admitted);
}

TEST(CheckedWord, DamageIsSeen) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, kMiB, 80000 * kMiB, kUnlimited}) {
    EXPECT_EQ(bytes_of(checked_word(bytes), 1), bytes);
    EXPECT_EQ(bytes_of(checked_word(bytes) ^ 0x100U, 1), 1U);
  }
  EXPECT_FALSE(is_checked(0));
  EXPECT_EQ(bytes_of(checked_word(~std::uint64_t{0}), 1), kUnlimited);
}

TEST(StateGuard, RefusalsOfEndedProcessesStayWithTheirJob) {
  const StateFolder folder;
  StateReader state = folder.reader();
  ASSERT_EQ(state.set_limits(7, {.limit_bytes = 10 * kMiB}), StateError::None);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    Client client;
    ASSERT_EQ(folder.join(client, {.job = 7}), StateError::None);
    MemoryGuard guard(client);
    EXPECT_EQ(guard.charge(20 * kMiB), Verdict::OverLimit);
    EXPECT_EQ(folder.report().jobs.at(0).refusals, round);
    client.leave();
    EXPECT_EQ(folder.report().jobs.at(0).refusals, round);
  }
  ASSERT_EQ(state.remove_job(7), StateError::None);
  ASSERT_EQ(state.set_limits(7, {}), StateError::None);
  EXPECT_EQ(folder.report().jobs.at(0).refusals, 0U);
}

}  // namespace
}  // namespace carpool::interpose
