#include <gtest/gtest.h>

#include "interpose/state/memory_accounts.hpp"
#include "interpose/state/process_facts.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

ClientReport accounted_client(std::uint32_t slot, pid_t pid, std::uint64_t used) {
  ClientReport client;
  client.id = {.slot = slot, .generation = 1};
  client.pid = pid;
  client.pid_namespace = own_pid_namespace();
  client.used_bytes = used;
  return client;
}

StateReport state_with(std::vector<ClientReport> clients) {
  StateReport report;
  report.clients = std::move(clients);
  return report;
}

TEST(MemoryAccounts, WhatAClientHasBesideItsAllocationsIsItsContext) {
  const StateReport state =
      state_with({accounted_client(0, 10, 30 * kMiB), accounted_client(1, 11, 90 * kMiB)});
  const MemoryAccounts accounts =
      MemoryAccountant().add(state, {{10, 50 * kMiB}, {11, 80 * kMiB}, {12, 7 * kMiB}}, state);
  ASSERT_EQ(accounts.contexts.size(), 2U);
  EXPECT_EQ(accounts.contexts[0].bytes, 20 * kMiB);
  EXPECT_EQ(accounts.contexts[1].bytes, 0U);  // managed memory need not be on the GPU
  EXPECT_EQ(accounts.foreign_bytes, 7 * kMiB);
  ASSERT_EQ(accounts.slotless.size(), 1U);
  EXPECT_EQ(accounts.slotless[0].pid, 12);
}

TEST(MemoryAccounts, AllocationsDuringTheReadingAreNotTakenForAContext) {
  const StateReport large = state_with({accounted_client(0, 10, 100 * kMiB)});
  const StateReport small = state_with({accounted_client(0, 10, 10 * kMiB)});
  EXPECT_EQ(MemoryAccountant().add(large, {{10, 110 * kMiB}}, small).contexts[0].bytes, 10 * kMiB);
  EXPECT_EQ(MemoryAccountant().add(small, {{10, 20 * kMiB}}, large).contexts[0].bytes, 0U);
}

TEST(MemoryAccounts, OneHighReadingIsNotBelieved) {
  MemoryAccountant accountant;
  const StateReport state = state_with({accounted_client(0, 10, 0)});
  const auto context = [&](std::uint64_t told) {
    return accountant.add(state, {{10, told}}, state).contexts.at(0).bytes;
  };
  EXPECT_EQ(context(400 * kMiB), 400 * kMiB);
  EXPECT_EQ(context(900 * kMiB), 400 * kMiB);  // allocated and freed between the two looks
  EXPECT_EQ(context(410 * kMiB), 400 * kMiB);
  EXPECT_EQ(context(500 * kMiB), 410 * kMiB);
  EXPECT_EQ(context(500 * kMiB), 410 * kMiB);
  EXPECT_EQ(context(500 * kMiB), 500 * kMiB);
  EXPECT_EQ(context(100 * kMiB), 100 * kMiB);  // less is believed at once
}

TEST(MemoryAccounts, BeyondTheMostOfAContextItIsForeign) {
  const StateReport state = state_with({accounted_client(0, 10, kMiB)});
  const MemoryAccounts accounts =
      MemoryAccountant().add(state, {{10, kMostContext + 4 * kMiB}}, state);
  EXPECT_EQ(accounts.contexts[0].bytes, kMostContext);
  EXPECT_EQ(accounts.foreign_bytes, 3 * kMiB);
}

TEST(MemoryAccounts, ClientsUnderAnotherNumberAreNotCountedTwice) {
  ClientReport contained = accounted_client(0, 10, 50 * kMiB);
  contained.pid_namespace = 1;
  ClientReport orphaned = accounted_client(1, 11, 20 * kMiB);
  orphaned.orphaned = true;
  const StateReport state = state_with({contained, orphaned});
  const MemoryAccounts accounts =
      MemoryAccountant().add(state, {{10, 60 * kMiB}, {4711, 30 * kMiB}}, state);
  EXPECT_TRUE(accounts.contexts.empty());
  EXPECT_EQ(accounts.foreign_bytes, 20 * kMiB);
  EXPECT_EQ(accounts.slotless.size(), 2U);
}

TEST(MemoryAccounts, AProcessThatHasJustEndedIsNotForeign) {
  const StateReport before = state_with({accounted_client(0, 10, 50 * kMiB)});
  const MemoryAccounts accounts = MemoryAccountant().add(before, {{10, 60 * kMiB}}, {});
  EXPECT_EQ(accounts.foreign_bytes, 0U);
  EXPECT_TRUE(accounts.slotless.empty());
}

TEST(MemoryAccounts, WhatTheDriverDoesNotTellChangesNothing) {
  const StateReport state = state_with({accounted_client(0, 10, 50 * kMiB)});
  const MemoryAccounts accounts =
      MemoryAccountant().add(state, {{10, std::nullopt}, {11, std::nullopt}}, state);
  EXPECT_TRUE(accounts.contexts.empty());
  EXPECT_EQ(accounts.foreign_bytes, 0U);
  EXPECT_EQ(accounts.slotless.size(), 1U);
}

TEST(MemoryAccounts, AreWrittenToTheState) {
  const StateFolder folder;
  StateReader server = folder.reader();
  ASSERT_EQ(server.set_gpu_memory(100 * kMiB, 0), StateError::None);
  Client client;
  ASSERT_EQ(folder.join(client, {.job = 1}), StateError::None);
  MemoryGuard guard(client);
  ASSERT_EQ(guard.charge(10 * kMiB), Verdict::Admitted);
  const StateReport state = folder.report();
  MemoryAccountant accountant;
  const MemoryAccounts accounts =
      accountant.add(state, {{::getpid(), 15 * kMiB}, {1, 25 * kMiB}}, state);
  ASSERT_EQ(write_accounts(server, accounts), StateError::None);
  EXPECT_EQ(guard.view().job_used, 15 * kMiB);
  EXPECT_EQ(guard.view().available, 60 * kMiB);
  EXPECT_EQ(folder.report().foreign_bytes, 25 * kMiB);
}

}  // namespace
}  // namespace carpool::interpose
