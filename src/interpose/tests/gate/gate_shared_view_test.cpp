// The view of the gate that a process puts together from the words of the others.
#include <array>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "interpose/gate/policy.hpp"
#include "interpose/gate/shared_view.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kViewed = 50 * kSecond;
constexpr std::uint64_t kSloWord = 20'000'000;

class SharedViewTest : public testing::Test {
 protected:
  ClientGate& add(std::uint32_t slot, JobClass job_class) {
    ClientSlot& client = state_->clients[slot];
    client.joined.store(1);
    client.job_class.store(static_cast<std::uint64_t>(job_class));
    SharedWord& live = slot < 64 ? state_->gpu.live_slots_low : state_->gpu.live_slots_high;
    live.fetch_or(std::uint64_t{1} << slot % 64);
    if (job_class == JobClass::Slo) {
      client.gate.slo_ns.store(kSloWord);
      client.gate.room_millionths.store(1'000'000);
      client.gate.in_mps.store(1);
      state_->gpu.slo_clients[slot / 64].fetch_or(std::uint64_t{1} << slot % 64);
    } else {
      client.gate.policy.store(1);
    }
    return client.gate;
  }

  // An SLO client that has launched this long ago.
  ClientGate& add_request(std::uint32_t slot, Nanoseconds began_before, Nanoseconds sign_before) {
    ClientGate& gate = add(slot, JobClass::Slo);
    gate.request_began_ns.store(static_cast<std::uint64_t>(kViewed - began_before));
    gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - sign_before));
    gate.commands_in_flight.store(3);
    return gate;
  }

  [[nodiscard]] GateView view(const SharedCaller& caller = {}) const {
    return shared_view(*state_, {.mps = true}, caller, kViewed);
  }

  std::unique_ptr<SharedState> state_ = std::make_unique<SharedState>();
};

TEST_F(SharedViewTest, WithoutAnSloClientEverythingIsAdmitted) {
  add(0, JobClass::BestEffort);
  const GateView seen = view();
  EXPECT_FALSE(seen.slo.present);
  EXPECT_TRUE(policies()[0].decide(seen, {}, {.bound_ns = kSecond}, kViewed).admitted);
}

TEST_F(SharedViewTest, WorkOfTheCallerOccupiesAtMostTheGpu) {
  EXPECT_EQ(view({.sms = 40}).best_effort.sms, 40U);
  EXPECT_EQ(view({.sms = std::uint64_t{1} << 40U}).best_effort.sms, DeviceFacts{}.sms);
}

TEST_F(SharedViewTest, NothingRunsBesideAnSloClientOutsideOfMps) {
  add_request(3, 5 * kMillisecond, 20 * kMicrosecond);
  EXPECT_TRUE(view().device.mps);
  ClientGate& outside = add(5, JobClass::Slo);
  outside.in_mps.store(0);
  const GateView seen = view();
  EXPECT_FALSE(seen.device.mps);
  const Work light{.known = true, .expected_ns = kMicrosecond, .bound_ns = kMicrosecond, .sms = 1};
  const Decision decision = policies()[0].decide(seen, {}, light, kViewed);
  EXPECT_FALSE(decision.admitted);
  EXPECT_EQ(decision.reason, HoldReason::RequestActive);
}

TEST_F(SharedViewTest, ARequestIsActiveUntilItWasQuiet) {
  ClientGate& gate = add_request(3, 5 * kMillisecond, 200 * kMicrosecond);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
  EXPECT_EQ(view().slo.commands, 3U);
  gate.commands_in_flight.store(0);
  EXPECT_EQ(view().slo.phase, RequestPhase::Quiet);
  EXPECT_EQ(view().slo.idle_at, kViewed - 200 * kMicrosecond + kQuietTime);
  gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - kQuietTime));
  EXPECT_EQ(view().slo.phase, RequestPhase::Idle);
}

TEST_F(SharedViewTest, AClientMayHaveLearnedAShorterQuietTime) {
  ClientGate& gate = add_request(3, 5 * kMillisecond, 50 * kMicrosecond);
  gate.quiet_ns.store(80'000);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);  // it has not waited for its work
  gate.commands_in_flight.store(0);
  EXPECT_EQ(view().slo.phase, RequestPhase::Quiet);
  EXPECT_EQ(view().slo.idle_at, kViewed + 30 * kMicrosecond);
  gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - 80 * kMicrosecond));
  EXPECT_EQ(view().slo.phase, RequestPhase::Idle);
  gate.quiet_ns.store(~std::uint64_t{0});  // damaged
  EXPECT_EQ(view().slo.idle_at, kViewed - 80 * kMicrosecond + kQuietTime);
}

TEST_F(SharedViewTest, ARequestWhoseWorkWasNotWaitedForMayBeSilentLonger) {
  ClientGate& gate = add_request(3, 5 * kMillisecond, 2 * kQuietTime);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
  EXPECT_EQ(view().slo.idle_at, kViewed - 2 * kQuietTime + kUnfinishedQuietTime);
  gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - kUnfinishedQuietTime));
  EXPECT_EQ(view().slo.phase, RequestPhase::Idle);
}

TEST_F(SharedViewTest, OtherWorkMayRunUntilARequestHasGivenItsCommands) {
  ClientGate& gate = add_request(3, 5 * kMillisecond, 20 * kMicrosecond);
  gate.in_mps.store(0);
  gate.busy.store(1);  // declared
  const Work work{.known = true, .expected_ns = kMillisecond, .bound_ns = kMillisecond, .sms = 132};
  const auto admitted = [&] { return policies()[0].decide(view(), {}, work, kViewed).admitted; };
  EXPECT_FALSE(admitted());
  gate.open_commands.store(4);
  EXPECT_EQ(view().slo.phase, RequestPhase::Launching);
  EXPECT_TRUE(admitted());
  gate.waiting.store(1);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
  gate.waiting.store(0);
  gate.commands_in_flight.store(4);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
  EXPECT_FALSE(admitted());
  gate.commands_in_flight.store(0);  // it has waited
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
}

TEST_F(SharedViewTest, ARequestThatIsSlowerThanUsualHasTheGpuBeforeItIsLate) {
  ClientGate& gate = add_request(3, kMillisecond, 20 * kMicrosecond);
  gate.in_mps.store(0);
  gate.open_commands.store(4);
  const Work work{.known = true, .expected_ns = kMillisecond, .bound_ns = kMillisecond, .sms = 132};
  const auto admitted = [&] { return policies()[0].decide(view(), {}, work, kViewed).admitted; };
  EXPECT_TRUE(admitted());
  gate.request_began_ns.store(static_cast<std::uint64_t>(kViewed - 15 * kMillisecond));
  EXPECT_FALSE(admitted()) << "less than 30 % of the SLO is left";
  gate.p50_ns.store(18'000'000);
  EXPECT_TRUE(admitted()) << "as for half of the requests";
}

TEST_F(SharedViewTest, AClientThatWaitsForTheGpuIsNotQuiet) {
  ClientGate& gate = add_request(3, 5 * kMillisecond, 2 * kMillisecond);
  EXPECT_EQ(view().slo.phase, RequestPhase::Idle);
  gate.busy.store(1);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
}

TEST_F(SharedViewTest, WorkThatNobodyWaitsForYetIsDoneAfterTheTimeOfARequest) {
  ClientGate& gate = add_request(3, 50 * kMillisecond, 20 * kMillisecond);
  const std::array<Nanoseconds, 4> alive{0, 0, 0, kViewed};
  const auto phase = [&] { return view({.alive = alive}).slo.phase; };
  gate.busy.store(kLaunchedAhead);
  EXPECT_EQ(phase(), RequestPhase::Busy) << "the time of a request is not known";
  gate.tail_ns.store(25'000'000);
  EXPECT_EQ(phase(), RequestPhase::Busy);
  EXPECT_EQ(view().slo.idle_at, kViewed + 5 * kMillisecond);
  gate.tail_ns.store(20'000'000);
  EXPECT_EQ(phase(), RequestPhase::Idle);
  gate.busy.store(kLaunchedAhead + 1);
  EXPECT_EQ(phase(), RequestPhase::Busy) << "a thread waits for the GPU";
}

TEST_F(SharedViewTest, ASilentClientHasNoRequestAfterItsLease) {
  ClientGate& gate = add_request(3, kSecond, kSloLease - 1);
  gate.busy.store(1);
  EXPECT_EQ(view().slo.phase, RequestPhase::Busy);
  gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - kSloLease));
  EXPECT_EQ(view().slo.phase, RequestPhase::Idle);
  static_assert(kSloLease <= 100 * kMillisecond);
}

TEST_F(SharedViewTest, AProcessThatIsSeenToRunMayWaitForLong) {
  ClientGate& gate = add_request(3, kSecond, kSecond);
  const std::array<Nanoseconds, 4> alive{0, 0, 0, kViewed - 50 * kMillisecond};
  EXPECT_EQ(view({.alive = alive}).slo.phase, RequestPhase::Idle);  // it does not wait
  gate.busy.store(1);
  EXPECT_EQ(view({.alive = alive}).slo.phase, RequestPhase::Busy);
  EXPECT_EQ(view({.alive = std::span(alive).first(3)}).slo.phase, RequestPhase::Idle);
}

TEST_F(SharedViewTest, SlackCountsWhatARequestUsuallyTakes) {
  ClientGate& gate = add_request(3, 4 * kMillisecond, 0);
  gate.p50_ns.store(5'000'000);
  EXPECT_EQ(view().slo.least_slack, 15 * kMillisecond);
  EXPECT_EQ(view().slo.tightest_slo, 20 * kMillisecond);
  EXPECT_EQ(view().slo.remaining, kMillisecond);
  gate.request_began_ns.store(static_cast<std::uint64_t>(kViewed - 19 * kMillisecond));
  EXPECT_EQ(view().slo.least_slack, kMillisecond);
  EXPECT_EQ(view().slo.remaining, 0);
}

TEST_F(SharedViewTest, TellsWhetherAnSloClientWorkedMeanwhile) {
  EXPECT_FALSE(slo_client_worked(*state_, 9, 0));
  ClientGate& gate = add(3, JobClass::Slo);
  gate.lease_ns.store(100);
  EXPECT_TRUE(slo_client_worked(*state_, 9, 100));
  EXPECT_FALSE(slo_client_worked(*state_, 9, 101));
  EXPECT_FALSE(slo_client_worked(*state_, 3, 100));  // itself
  gate.busy.store(1);
  EXPECT_TRUE(slo_client_worked(*state_, 9, 101));
  EXPECT_FALSE(slo_client_worked(*state_, 9, 11 * kSecond)) << "it was stopped while it waited";
  gate.busy.store(kLaunchedAhead);
  EXPECT_TRUE(slo_client_worked(*state_, 9, 101));
  EXPECT_FALSE(slo_client_worked(*state_, 9, kSecond)) << "it may never wait for its work";
}

TEST_F(SharedViewTest, TheSmallestRoomAndTheLatestPauseCount) {
  add(1, JobClass::Slo).room_millionths.store(300'000);
  add(2, JobClass::Slo).time_only_until_ns.store(static_cast<std::uint64_t>(kViewed + kSecond));
  const Budget full = budget_of({.tightest_slo = 20 * kMillisecond, .room_permille = 300}, 0, 132);
  EXPECT_EQ(view().budget.idle_ns, full.idle_ns);
  EXPECT_EQ(view().budget.time_only_until, kViewed + kSecond);
}

TEST_F(SharedViewTest, WorkOfOthersCountsUntilItIsOverdue) {
  ClientGate& other = add(5, JobClass::BestEffort);
  other.in_flight_ns.store(300'000);
  other.commands_in_flight.store(2);
  other.due_ns.store(static_cast<std::uint64_t>(kViewed + 1));
  const GateView seen = view({.slot = 9, .in_flight_ns = 100'000, .commands = 1});
  EXPECT_EQ(seen.best_effort.in_flight_ns, 400'000);
  EXPECT_EQ(seen.best_effort.commands, 3U);
  EXPECT_EQ(seen.caller.commands_in_flight, 1U);
  EXPECT_EQ(view({.slot = 9, .ends_in = 0}).best_effort.ends_in, kNever);
  other.due_ns.store(static_cast<std::uint64_t>(kViewed - kOverdue));
  EXPECT_EQ(view({.slot = 9}).best_effort.in_flight_ns, 0);
  EXPECT_EQ(view({.slot = 9, .ends_in = 5}).best_effort.ends_in, 5);
}

TEST_F(SharedViewTest, TheEndOfWhatRanBesideARequestIsNotKnown) {
  ClientGate& gate = add(3, JobClass::Slo);
  gate.lease_ns.store(static_cast<std::uint64_t>(kViewed - kMillisecond));
  const auto in_flight = [&](Nanoseconds began_before) {
    return view({.slot = 9, .began = kViewed - began_before, .ends_in = 5, .confined_ends_in = 7})
        .best_effort;
  };
  EXPECT_EQ(in_flight(kMillisecond / 2).ends_in, 5);
  EXPECT_EQ(in_flight(2 * kMillisecond).ends_in, kNever);
  EXPECT_EQ(in_flight(2 * kMillisecond).confined_ends_in, 7);
  gate.busy.store(1);  // killed while it waited for the GPU
  EXPECT_EQ(in_flight(kMillisecond / 2).ends_in, 5);
}

TEST_F(SharedViewTest, OneThatIsAheadOfAWaitingOneSeesIt) {
  ClientGate& other = add(5, JobClass::BestEffort);
  other.start_tag.store(1'000);
  EXPECT_EQ(view({.slot = 9, .start_tag = 5'000}).caller.turn_lag, 0);
  EXPECT_EQ(shared_virtual_time(*state_), 1'000);
  other.last_asked_ns.store(static_cast<std::uint64_t>(kViewed - 1));
  EXPECT_EQ(view({.slot = 9, .start_tag = 5'000}).caller.turn_lag, 4'000);
  // A client that was killed while it waited does not ask again.
  other.last_asked_ns.store(static_cast<std::uint64_t>(kViewed - kWaiterLease));
  EXPECT_EQ(view({.slot = 9, .start_tag = 5'000}).caller.turn_lag, 0);
}

TEST_F(SharedViewTest, ASlotThatWasGivenToAnotherClientIsNotAnSloClient) {
  add_request(3, kMillisecond, 0);
  state_->clients[3].job_class.store(static_cast<std::uint64_t>(JobClass::BestEffort));
  EXPECT_FALSE(view().slo.present);
  state_->clients[3].job_class.store(static_cast<std::uint64_t>(JobClass::Slo));
  state_->clients[3].joined.store(0);
  EXPECT_FALSE(view().slo.present);
}

class SloViewTest : public SharedViewTest {
 protected:
  // Of the client in slot 0, whose request has just begun.
  [[nodiscard]] Decision ask() const {
    return policies()[0].decide(shared_slo_view(*state_, 0, kViewed), {}, {}, kViewed);
  }
};

TEST_F(SloViewTest, AFreshRequestWaitsForOneThatIsAboutToBeLate) {
  add_request(0, 0, 0);
  EXPECT_TRUE(ask().admitted);
  add_request(70, 0, 0);
  EXPECT_TRUE(ask().admitted);
  ClientGate& other = add_request(5, 17 * kMillisecond, 0);  // of 20 ms
  EXPECT_TRUE(ask().admitted);
  other.request_began_ns.store(static_cast<std::uint64_t>(kViewed - 18 * kMillisecond - 1));
  EXPECT_EQ(ask().reason, HoldReason::TighterRequest);
  // Half of its requests take 19 ms: so will this one.
  other.request_began_ns.store(static_cast<std::uint64_t>(kViewed));
  other.p50_ns.store(19'000'000);
  EXPECT_EQ(ask().reason, HoldReason::TighterRequest);
}

TEST_F(SloViewTest, ItWaitsAsLongAsHalfOfItsSloIsLeft) {
  ClientGate& own = add_request(0, 9 * kMillisecond, 0);
  add_request(5, 19 * kMillisecond, 0);
  EXPECT_EQ(ask().until, kViewed + kMillisecond);
  own.request_began_ns.store(static_cast<std::uint64_t>(kViewed - 10 * kMillisecond));
  EXPECT_TRUE(ask().admitted);
  own.request_began_ns.store(0);  // no request of its own
  EXPECT_TRUE(ask().admitted);
}

TEST_F(SloViewTest, ItDoesNotWaitForASilentClientNorForOneOfItsJob) {
  add_request(0, 0, 0);
  ClientGate& other = add_request(5, kSecond, kSloLease - 1);
  other.busy.store(1);
  EXPECT_FALSE(ask().admitted);
  state_->clients[0].job.store(7);
  EXPECT_FALSE(ask().admitted);
  state_->clients[5].job.store(7);
  EXPECT_TRUE(ask().admitted);
  state_->clients[5].job.store(8);
  other.lease_ns.store(static_cast<std::uint64_t>(kViewed - kSloLease));
  EXPECT_TRUE(ask().admitted);
}

TEST_F(SharedViewTest, ATailWellBelowTheSloLeavesRoom) {
  ClientGate& first = add(1, JobClass::Slo);
  EXPECT_FALSE(slos_leave_room(*state_, false));  // nothing is known of its tail
  first.requests.store(1000);
  first.tail_ns.store(kSloWord / 100 * 25);
  EXPECT_TRUE(slos_leave_room(*state_, false));
  first.tail_ns.store(kSloWord / 100 * 35);  // in between, the last answer is kept
  EXPECT_FALSE(slos_leave_room(*state_, false));
  EXPECT_TRUE(slos_leave_room(*state_, true));
  ClientGate& second = add(70, JobClass::Slo);
  second.requests.store(1000);
  second.tail_ns.store(kSloWord / 2);
  EXPECT_FALSE(slos_leave_room(*state_, true));
  second.tail_ns.store(~std::uint64_t{0});  // damaged
  EXPECT_FALSE(slos_leave_room(*state_, true));
}

}  // namespace
}  // namespace carpool::interpose::gate
