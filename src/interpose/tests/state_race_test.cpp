// Processes that race for memory and are killed at any moment.
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "interpose/guard/admission.hpp"
#include "interpose/guard/owned_amount.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

constexpr int kProcesses = 16;
constexpr std::uint64_t kQuota = 100 * kMiB;

// What the processes have been granted, kept apart from what is tested. A process adds after it was
// admitted and subtracts before it releases, so the sum never exceeds what the guard has granted.
struct Grants {
  std::atomic<std::int64_t> sum;
  std::array<std::atomic<std::int64_t>, kProcesses>
      bytes;  // of each, never less than its part of the sum
  std::atomic<std::uint64_t> admitted;
  std::atomic<int> refused;  // processes
  std::atomic<bool> exceeded;
  std::atomic<bool> stop;

  void add(std::size_t index, std::uint64_t amount) {
    bytes[index].fetch_add(static_cast<std::int64_t>(amount));
    const std::int64_t before = sum.fetch_add(static_cast<std::int64_t>(amount));
    if (before + static_cast<std::int64_t>(amount) > static_cast<std::int64_t>(kQuota)) {
      exceeded.store(true);
    }
    admitted.fetch_add(1);
  }
  void subtract(std::size_t index, std::uint64_t amount) {
    sum.fetch_sub(static_cast<std::int64_t>(amount));
    bytes[index].fetch_sub(static_cast<std::int64_t>(amount));
  }
};

class SharedGrants {
 public:
  SharedGrants()
      : grants_(static_cast<Grants*>(::mmap(
            nullptr, sizeof(Grants), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedGrants(const SharedGrants&) = delete;
  SharedGrants& operator=(const SharedGrants&) = delete;
  ~SharedGrants() { ::munmap(grants_, sizeof(Grants)); }
  Grants* operator->() const { return grants_; }
  Grants& operator*() const { return *grants_; }

 private:
  Grants* grants_;
};

// Charges and releases pieces of random size.
int race(const StateFolder& folder, Grants& grants, std::size_t index, int steps) {
  Client client;
  if (folder.join(client, {.job = 1, .limit_bytes = kQuota}) != StateError::None) {
    return 1;
  }
  MemoryGuard guard(client);
  std::mt19937_64 random(index);
  std::vector<std::uint64_t> held;
  for (int step = 0; step < steps && !grants.stop.load(); ++step) {
    if (held.empty() || random() % 3 != 0) {
      const std::uint64_t bytes = 1 + random() % (8 * kMiB);
      if (guard.charge(bytes) == Verdict::Admitted) {
        held.push_back(bytes);
        grants.add(index, bytes);
      }
    } else {
      grants.subtract(index, held.back());
      if (guard.release(held.back()) != held.back()) {
        return 2;
      }
      held.pop_back();
    }
  }
  for (const std::uint64_t bytes : held) {
    grants.subtract(index, bytes);
  }
  return 0;
}

// Writes contexts of all clients, each below `most`, until `stop`.
void correct_contexts(const StateFolder& folder,
                      std::uint64_t most,
                      const std::atomic<bool>& stop,
                      std::uint64_t& written) {
  StateReader server = folder.reader();
  std::mt19937_64 random(2);
  while (!stop.load()) {
    StateReport report;
    if (server.read(report) != StateError::None) {
      continue;
    }
    for (const ClientReport& client : report.clients) {
      written += server.set_context(client.id, random() % most) == StateError::None ? 1U : 0U;
    }
  }
}

TEST(StateRace, SixteenProcessesNeverExceedAQuotaWhileContextsAreCorrected) {
  const StateFolder folder;
  const SharedGrants grants;
  std::atomic<bool> stop{false};
  std::uint64_t written = 0;
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  for (std::size_t index = 0; index < kProcesses; ++index) {
    children.push_back(start_process([&] { return race(folder, *grants, index, 2000); }));
  }
  std::thread server([&] { correct_contexts(folder, 4 * kMiB, stop, written); });
  for (const pid_t child : children) {
    EXPECT_EQ(status_of(child), 0);  // what a process releases is all that it was granted
  }
  stop.store(true);
  server.join();
  EXPECT_FALSE(grants->exceeded.load());
  EXPECT_GT(grants->admitted.load(), 1000U);
  EXPECT_GT(written, 0U);
  EXPECT_EQ(folder.report().used_bytes, 0U);  // neither allocations nor contexts are left
}

TEST(StateRace, SixteenProcessesNeverExceedAQuota) {
  const StateFolder folder;
  const SharedGrants grants;
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  for (std::size_t index = 0; index < kProcesses; ++index) {
    children.push_back(start_process([&] { return race(folder, *grants, index, 3000); }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(status_of(child), 0);
  }
  EXPECT_FALSE(grants->exceeded.load());
  EXPECT_GT(grants->admitted.load(), 1000U);
  EXPECT_EQ(folder.report().used_bytes, 0U);
}

// Each takes pieces until the first refusal: no piece that fits is refused, however many ask.
TEST(StateRace, QuotaIsFilledToTheLastByte) {
  const StateFolder folder;
  const SharedGrants grants;
  auto* const full = &grants->refused;
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  ASSERT_EQ(folder.reader().set_limits(1, {.limit_bytes = kQuota}), StateError::None);
  for (std::size_t index = 0; index < kProcesses; ++index) {
    children.push_back(start_process([&, index] {
      Client client;
      if (folder.join(client, {.job = 1}) != StateError::None) {
        return 1;
      }
      MemoryGuard guard(client);
      while (guard.charge(kMiB / 4) == Verdict::Admitted) {
        grants->add(index, kMiB / 4);
      }
      full->fetch_add(1);
      ::pause();
      return 0;
    }));
  }
  while (full->load() < kProcesses) {
    ::sched_yield();
  }
  EXPECT_FALSE(grants->exceeded.load());
  EXPECT_EQ(folder.report().used_bytes, kQuota);
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    status_of(child);
  }
  const StateReport report = folder.report();
  EXPECT_EQ(report.used_bytes, 0U);
  EXPECT_TRUE(report.clients.empty());
}

TEST(StateRace, KilledProcessesLeaveAnExactAccount) {
  const StateFolder folder;
  const SharedGrants grants;
  std::array<pid_t, kProcesses> children{};
  ASSERT_EQ(folder.reader().set_limits(1, {.limit_bytes = kQuota}), StateError::None);
  const auto start = [&](std::size_t index) {
    children.at(index) =
        start_process([&, index] { return race(folder, *grants, index, 1 << 30); });
  };
  for (std::size_t index = 0; index < kProcesses; ++index) {
    start(index);
  }
  std::mt19937_64 random(1);
  for (int kill = 0; kill < 60; ++kill) {
    const std::uint64_t before = grants->admitted.load();
    while (grants->admitted.load() < before + 20) {
      ::sched_yield();
    }
    const std::size_t index = random() % kProcesses;
    // Its part leaves the sum before others can be granted it.
    ::kill(children.at(index), SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(children.at(index), &status, WUNTRACED), children.at(index));
    grants->sum.fetch_sub(grants->bytes.at(index).exchange(0));
    ::kill(children.at(index), SIGKILL);
    status_of(children.at(index));
    start(index);
  }
  grants->stop.store(true);
  for (const pid_t child : children) {
    EXPECT_EQ(status_of(child), 0);
  }
  EXPECT_FALSE(grants->exceeded.load());
  EXPECT_EQ(folder.report().used_bytes, 0U);
  Client client;
  ASSERT_EQ(folder.join(client, {.job = 1}), StateError::None);
  MemoryGuard guard(client);
  EXPECT_EQ(guard.charge(kQuota), Verdict::Admitted);
  EXPECT_EQ(guard.charge(1), Verdict::OverLimit);
}

TEST(StateRace, ThreadsOfAProcessShareTheQuota) {
  const StateFolder folder;
  Client client;
  ASSERT_EQ(folder.join(client, {.limit_bytes = 40 * kMiB}), StateError::None);
  MemoryGuard guard(client);
  std::atomic<std::uint64_t> granted{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&] {
      for (int step = 0; step < 500; ++step) {
        client.count_launch(1);
        if (guard.charge(kMiB) == Verdict::Admitted) {
          granted.fetch_add(kMiB);
          if (step % 2 == 0) {
            granted.fetch_sub(guard.release(kMiB));
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(client.counters().launches.load(), 2000U);
  EXPECT_EQ(granted.load(), 40 * kMiB);
  EXPECT_EQ(guard.view().job_used, 40 * kMiB);
}

// It would fit but for a request that is undecided, so it waits for the decision.
TEST(StateRace, RequestWaitsForAnUndecidedOne) {
  const StateFolder folder;
  std::array<Client, 2> clients;
  for (Client& client : clients) {
    ASSERT_EQ(folder.join(client, {.job = 1, .limit_bytes = kQuota}), StateError::None);
  }
  SharedWord& undecided = clients[1].slot().memory.asking;
  undecided.fetch_add(kMiB);
  std::atomic<bool> answered{false};
  std::thread other([&] {
    while (amount_of(clients[0].slot().memory.asking.load()) == 0 && !answered.load()) {
      ::sched_yield();
    }
    undecided.fetch_sub(kMiB);  // refused
  });
  MemoryGuard guard(clients[0]);
  EXPECT_EQ(guard.charge(kQuota), Verdict::Admitted);
  answered.store(true);
  other.join();
}

}  // namespace
}  // namespace carpool::interpose
