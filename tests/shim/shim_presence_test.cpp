// Which clients have an SLO, and which of them work: the bits of those that have ended go away.
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/library/gating/waiting_clients.hpp"
#include "interpose/library/requests/slo_presence.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

class SloPresence : public testing::Test {
 protected:
  void join(Client& client, JobClass job_class) const {
    ASSERT_EQ(folder_.join(client, {.job_class = job_class}), StateError::None);
    if (job_class == JobClass::Slo) {
      client.slot().gate.slo_ns.store(20'000'000);
      show_slo_presence(client);
    }
  }
  [[nodiscard]] static std::uint64_t bits(const Client& client) {
    return client.shared()->gpu.slo_clients[0].load();
  }
  [[nodiscard]] static std::uint64_t live(const Client& client) {
    return client.shared()->gpu.live_slots_low.load();
  }
  // An SLO process that ends without a word.
  void lose_an_slo_process() const {
    const pid_t child = ::fork();
    if (child == 0) {
      Client client;
      join(client, JobClass::Slo);
      ::_exit(0);
    }
    ASSERT_GT(child, 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }

  StateFolder folder_;
};

TEST_F(SloPresence, ABestEffortClientInTheSlotOfAnSloClientSeesNone) {
  Client served;
  join(served, JobClass::Slo);
  served.leave();
  Client trains;
  join(trains, JobClass::BestEffort);
  ASSERT_EQ(trains.id().slot, 0U);
  EXPECT_EQ(bits(trains), 1U) << "of the slot's last owner";
  EndedSloClients().look(trains, 2 * gate::kSecond);
  EXPECT_EQ(bits(trains), 0U);
}

TEST_F(SloPresence, AKilledClientGoesAwayThoughAnotherOneServes) {
  Client trains;
  Client serves;
  join(trains, JobClass::BestEffort);
  join(serves, JobClass::Slo);
  lose_an_slo_process();
  const gate::Nanoseconds now = 10 * gate::kSecond;
  serves.slot().gate.lease_ns.store(static_cast<std::uint64_t>(now));
  EXPECT_EQ(bits(trains), 0b110U);
  EndedSloClients().look(serves, now);
  EXPECT_EQ(live(serves), 0b111U) << "an SLO process does not call the system for it";
  EndedSloClients ended;
  ended.look(trains, now);
  EXPECT_EQ(live(trains), 0b011U);
  ended.look(trains, now + gate::kSecond);
  EXPECT_EQ(bits(trains), 0b010U);
}

TEST_F(SloPresence, AProcessThatRunsKeepsARequestOnlyWhileItWaits) {
  Client serves;
  join(serves, JobClass::Slo);
  ClientGate& words = serves.slot().gate;
  words.request_began_ns.store(1);
  const gate::Nanoseconds now = gate::kSecond;
  const auto seen = [&] {
    WaitingClients clients;
    clients.look(*serves.shared(), now);
    return clients.last_seen()[serves.id().slot];
  };
  words.busy.store(kLaunchedAhead);
  EXPECT_EQ(seen(), 0) << "it may never look at this work again";
  words.busy.store(kLaunchedAhead + 1);
  EXPECT_EQ(seen(), now);
}

}  // namespace
}  // namespace carpool::interpose
