#include <csignal>
#include <deque>

#include "interpose/state/client.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

TEST(StateClient, IsListedWithItsCounters) {
  const StateFolder folder;
  Client client;
  ASSERT_EQ(folder.join(client, {.name = "train.py", .job = 7, .job_class = JobClass::Slo}),
            StateError::None);
  client.count_launch(100);
  client.count_launch(200);
  client.count_graph_launch(50, 300);
  client.count_copy(4096);
  const StateReport report = folder.report();
  ASSERT_EQ(report.clients.size(), 1U);
  const ClientReport& seen = report.clients.front();
  EXPECT_EQ(seen.id, client.id());
  EXPECT_EQ(seen.pid, ::getpid());
  EXPECT_FALSE(seen.orphaned);
  EXPECT_EQ(seen.name, "train.py");
  EXPECT_EQ(seen.job, 7U);
  EXPECT_EQ(seen.job_class, JobClass::Slo);
  EXPECT_EQ(seen.launches, 2U);
  EXPECT_EQ(seen.graph_launches, 1U);
  EXPECT_EQ(seen.graph_nodes, 50U);
  EXPECT_EQ(seen.copies, 1U);
  EXPECT_EQ(seen.copied_bytes, 4096U);
  EXPECT_EQ(seen.last_call_ns, 300U);
  client.leave();
  EXPECT_TRUE(folder.report().clients.empty());
  EXPECT_TRUE(folder.report().jobs.empty());
}

TEST(StateClient, ReportsWhatTheGateDid) {
  const StateFolder folder;
  Client client;
  ASSERT_EQ(folder.join(client, {.job_class = JobClass::Slo}), StateError::None);
  ClientGate& gate = client.slot().gate;
  gate.slo_ns = 20'000'000;
  gate.requests = 9;
  gate.late_requests = 1;
  gate.tail_ns = 12'000'000;
  gate.service_ns = 4'000'000;
  gate.service_square_us2 = 17'000'000;
  gate.holds[kHoldWords - 1] = 3;
  gate.held_ns[kHoldWords - 1] = 500;
  const GateReport seen = folder.report().clients.front().gate;
  EXPECT_EQ(seen.slo_ns, 20'000'000U);
  EXPECT_EQ(seen.requests, 9U);
  EXPECT_EQ(seen.late_requests, 1U);
  EXPECT_EQ(seen.tail_ns, 12'000'000U);
  EXPECT_EQ(seen.service_ns, 4'000'000U);
  EXPECT_EQ(seen.service_square_us2, 17'000'000U);
  EXPECT_EQ(seen.holds.back(), 3U);
  EXPECT_EQ(seen.held_ns.back(), 500U);
  client.leave();
  ASSERT_EQ(folder.join(client), StateError::None);
  EXPECT_EQ(folder.report().clients.front().gate.slo_ns, 0U);
}

TEST(StateClient, PassesThroughWithoutSharedState) {
  const StateFolder folder;
  ASSERT_EQ(::symlink("elsewhere", folder.file().c_str()), 0);
  Client client;
  EXPECT_EQ(folder.join(client), StateError::NotAFile);
  EXPECT_FALSE(client.joined());
  EXPECT_FALSE(client.id().valid());
  EXPECT_EQ(client.shared(), nullptr);
  EXPECT_EQ(client.log(), nullptr);
  const std::uint64_t before = client.counters().launches.load();
  client.count_launch(1);
  EXPECT_EQ(client.counters().launches.load(), before + 1);
  MemoryGuard guard(client);
  EXPECT_EQ(guard.charge(kMiB), Verdict::Admitted);
  EXPECT_EQ(guard.view().available, kUnlimited);
  EXPECT_EQ(guard.release(kMiB), kMiB);
  EXPECT_EQ(client.reclaim_dead(), 0U);
  client.tell_total_memory(kMiB);
}

TEST(StateClient, GetsASlotOfItsOwnUntilAllAreTaken) {
  const StateFolder folder;
  std::deque<Client> clients(kClientSlots);
  for (std::uint32_t slot = 0; slot < kClientSlots; ++slot) {
    ASSERT_EQ(folder.join(clients[slot]), StateError::None);
    EXPECT_EQ(clients[slot].id().slot, slot);
  }
  Client late;
  EXPECT_EQ(folder.join(late), StateError::Full);
  clients[100].leave();
  EXPECT_EQ(folder.join(late), StateError::None);
  EXPECT_EQ(late.id().slot, 100U);
  EXPECT_EQ(late.id().generation, 3U);  // leaving and joining each begin a generation
}

TEST(StateClient, ChargeOfAKilledProcessIsFreedByTheNextLook) {
  const StateFolder folder;
  const Signal charged;
  const pid_t child = start_process([&] {
    Client client;
    const bool joined =
        folder.join(client, {.job = 3, .guarantee_bytes = kMiB}) == StateError::None;
    MemoryGuard guard(client);
    guard.charge_existing(500 * kMiB);
    charged.give();
    ::pause();
    return joined ? 0 : 1;
  });
  charged.wait();
  EXPECT_EQ(folder.report().used_bytes, 500 * kMiB);
  EXPECT_EQ(folder.report().jobs.size(), 1U);
  ::kill(child, SIGKILL);
  status_of(child);
  const StateReport report = folder.report();
  EXPECT_EQ(report.used_bytes, 0U);
  EXPECT_TRUE(report.clients.empty());
  EXPECT_TRUE(report.jobs.empty());
}

TEST(StateClient, MemoryStaysChargedWhileAForkedProcessHoldsIt) {
  const StateFolder folder;
  const Signal forked;
  const Signal end;
  const pid_t parent = start_process([&] {
    Client client;
    const bool joined = folder.join(client) == StateError::None;
    MemoryGuard guard(client);
    guard.charge_existing(kMiB);
    const pid_t worker = start_process([&] {
      // Its copy of the mapping keeps the slot taken, as its copies of the driver's descriptors
      // keep the GPU memory.
      forked.give();
      end.wait();
      end.give();
      return 0;
    });
    ::pause();
    return joined && worker > 0 ? 0 : 1;
  });
  forked.wait();
  ::kill(parent, SIGKILL);
  status_of(parent);
  const StateReport held = folder.report();
  ASSERT_EQ(held.clients.size(), 1U);
  EXPECT_EQ(held.used_bytes, kMiB);
  EXPECT_TRUE(held.clients.front().orphaned);
  end.give();
  // The worker answers and ends; the kernel frees its lock a moment later.
  StateReport freed = held;
  for (int attempt = 0; attempt < 1000 && !freed.clients.empty(); ++attempt) {
    ::sched_yield();
    freed = folder.report();
  }
  EXPECT_TRUE(freed.clients.empty());
}

TEST(StateClient, ProgramThatClosesTheDescriptorKeepsItsSlot) {
  const StateFolder folder;
  const Signal closed;
  const pid_t child = start_process([&] {
    Client client;
    const bool joined = folder.join(client, {.limit_bytes = kMiB}) == StateError::None;
    ::close(client.file().descriptor());
    // Another file may have the number by now.
    const bool reused = ::dup2(STDERR_FILENO, client.file().descriptor()) >= 0;
    MemoryGuard guard(client);
    const bool limited = guard.charge(kMiB) == Verdict::Admitted &&
                         guard.charge(1) == Verdict::OverLimit && client.owns_slot();
    closed.give();
    ::pause();
    return joined && reused && limited ? 0 : 1;
  });
  closed.wait();
  Client other;
  ASSERT_EQ(folder.join(other), StateError::None);
  EXPECT_EQ(other.id().slot, 1U);
  EXPECT_EQ(folder.report().used_bytes, kMiB);
  ::kill(child, SIGKILL);
  status_of(child);
  EXPECT_EQ(folder.report().used_bytes, 0U);
}

TEST(StateClient, ClientWhoseSlotWasTakenTouchesNothing) {
  const StateFolder folder;
  Client client;
  ASSERT_EQ(folder.join(client, {.limit_bytes = kMiB}), StateError::None);
  MemoryGuard guard(client);
  // As if another client had the slot now.
  client.slot().generation.fetch_add(1);
  client.slot().memory.used.store(std::uint64_t{7} << 48U | 5 * kMiB);
  client.slot().memory.asking.store(std::uint64_t{7} << 48U);
  EXPECT_FALSE(client.owns_slot());
  EXPECT_EQ(guard.charge(2 * kMiB), Verdict::Admitted);
  EXPECT_EQ(guard.release(2 * kMiB), 0U);
  EXPECT_EQ(folder.report().used_bytes, 5 * kMiB);
  client.leave();
  EXPECT_EQ(folder.report().clients.size(), 0U);  // its lock is free, so the slot is
}

TEST(StateClient, StoppedProcessWithTheTableLockDelaysJoinOnlyForAMoment) {
  const StateFolder folder;
  Client first;
  ASSERT_EQ(folder.join(first), StateError::None);
  StateFile holder;
  ASSERT_EQ(holder.open(folder.path(), kTestGpu, ::geteuid()), StateError::None);
  ASSERT_TRUE(holder.try_lock(kTableLockByte));
  Client late;
  EXPECT_EQ(folder.join(late), StateError::Busy);
  EXPECT_FALSE(late.joined());
  // What is there can be told all the same.
  EXPECT_EQ(folder.report().clients.size(), 1U);
  holder.close();
  EXPECT_EQ(folder.join(late), StateError::None);
}

}  // namespace
}  // namespace carpool::interpose
