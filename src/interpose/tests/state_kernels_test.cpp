// The kernel table and the kernel log.
#include <memory>
#include <thread>
#include <vector>

#include "interpose/state/kernel_log.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

class StateKernelsTest : public testing::Test {
 protected:
  std::unique_ptr<std::array<KernelEntry, kKernelEntries>> entries_ =
      std::make_unique<std::array<KernelEntry, kKernelEntries>>();
  KernelTable table_{*entries_};
};

TEST_F(StateKernelsTest, KeyTellsApartWhatTakesAnotherTime) {
  const std::uint64_t name = hash_name("gemm");
  const auto key = [&](std::uint32_t blocks, std::uint32_t threads) {
    return kernel_key(name, {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}});
  };
  EXPECT_EQ(key(1000, 256), key(1001, 256));  // one bucket: 896 to 1023
  EXPECT_NE(key(1000, 256), key(1300, 256));
  EXPECT_NE(key(1000, 256), key(1000, 128));
  EXPECT_NE(key(4, 32), key(5, 32));
  EXPECT_EQ(key(6, 33), key(6, 64));  // warps
  EXPECT_NE(key(6, 32), kernel_key(hash_name("gemv"), {.grid = {6, 1, 1}, .block = {32, 1, 1}}));
  EXPECT_EQ(kernel_key(name, {.grid = {8, 4, 2}, .block = {8, 4, 1}}), key(64, 32));
  EXPECT_NE(key(0, 0), 0U);
}

TEST_F(StateKernelsTest, KeyInItsPlaceDependsOnTheTwoLaunchesBefore) {
  EXPECT_EQ(kernel_key_after(1, 2, 3), kernel_key_after(1, 2, 3));
  EXPECT_NE(kernel_key_after(1, 2, 3), kernel_key_after(1, 3, 2));
  EXPECT_NE(kernel_key_after(1, 2, 3), kernel_key_after(1, 2, 4));
  EXPECT_NE(kernel_key_after(1, 2, 3), kernel_key_after(2, 2, 3));
  EXPECT_NE(kernel_key_after(0, 0, 0), 0U);
}

TEST_F(StateKernelsTest, ASlowedKernelHasAKeyOfItsOwn) {
  EXPECT_EQ(kernel_key_slowed(1), kernel_key_slowed(1));
  EXPECT_NE(kernel_key_slowed(1), kernel_key_slowed(2));
  EXPECT_NE(kernel_key_slowed(1), 1U);
  EXPECT_NE(kernel_key_slowed(1), kernel_key_after(1, 1, 1));
  EXPECT_NE(kernel_key_slowed(0), 0U);
}

TEST_F(StateKernelsTest, TheLeastOfDurationsThatMayBeTooLongCounts) {
  for (const std::uint64_t duration : {300U, 5000U, 200U, 900U}) {
    EXPECT_TRUE(table_.learn_least(7, duration));
  }
  EXPECT_FLOAT_EQ(table_.find(7).mean_ns, 200.0F);
  EXPECT_FLOAT_EQ(table_.find(7).deviation_ns, 0.0F);
  EXPECT_EQ(table_.find(7).count, 4U);
  EXPECT_FALSE(table_.learn_least(0, 1));
}

TEST_F(StateKernelsTest, AKernelVariesIfItsDeviationIsLarge) {
  EXPECT_FALSE(varies({}));
  EXPECT_FALSE(varies({.mean_ns = 800, .deviation_ns = 100, .count = 3}));
  EXPECT_TRUE(varies({.mean_ns = 800, .deviation_ns = 101, .count = 3}));
  EXPECT_FALSE(varies({.mean_ns = 800, .deviation_ns = 101, .count = 2}));  // too few samples
}

TEST_F(StateKernelsTest, LearnsMeanAndDeviation) {
  EXPECT_EQ(table_.find(7).count, 0U);
  EXPECT_TRUE(table_.learn(7, 100));
  EXPECT_FLOAT_EQ(table_.find(7).mean_ns, 100.0F);
  EXPECT_FLOAT_EQ(table_.find(7).deviation_ns, 0.0F);
  EXPECT_TRUE(table_.learn(7, 200));
  // Weight 1/2: mean 150, distance 100.
  EXPECT_FLOAT_EQ(table_.find(7).mean_ns, 150.0F);
  EXPECT_FLOAT_EQ(table_.find(7).deviation_ns, 50.0F);
  EXPECT_EQ(table_.find(7).count, 2U);
  for (int sample = 0; sample < 2000; ++sample) {
    EXPECT_TRUE(table_.learn(7, 1000));
  }
  EXPECT_NEAR(table_.find(7).mean_ns, 1000.0F, 1.0F);
  EXPECT_NEAR(table_.find(7).deviation_ns, 0.0F, 1.0F);
  EXPECT_FALSE(table_.learn(0, 1));
}

TEST_F(StateKernelsTest, AFirstSampleThatWasSlowedDownIsForgotten) {
  EXPECT_TRUE(table_.learn(3, 60'000));
  EXPECT_TRUE(table_.learn(3, 5000));
  EXPECT_FLOAT_EQ(table_.find(3).mean_ns, 5000.0F);
  EXPECT_FLOAT_EQ(table_.find(3).deviation_ns, 0.0F);
  EXPECT_TRUE(table_.learn(3, 60'000));  // later ones count: the kernel may take either time
  EXPECT_TRUE(table_.learn(3, 5000));
  EXPECT_GT(table_.find(3).mean_ns, 10'000.0F);
  EXPECT_TRUE(varies(table_.find(3)));
}

TEST_F(StateKernelsTest, ProfileYieldsToSamples) {
  const KernelEstimate told{
      .mean_ns = 500, .deviation_ns = 5, .count = 10, .source = KernelSource::Profile};
  EXPECT_TRUE(table_.set(1, told));
  EXPECT_EQ(table_.find(1).source, KernelSource::Profile);
  EXPECT_FLOAT_EQ(table_.find(1).mean_ns, 500.0F);
  EXPECT_TRUE(table_.learn(2, 100));
  EXPECT_TRUE(table_.set(2, told));
  EXPECT_FLOAT_EQ(table_.find(2).mean_ns, 100.0F);
}

TEST_F(StateKernelsTest, InAFullNeighbourhoodTheKernelWithTheFewestSamplesMakesRoom) {
  std::array<KernelEntry, 64> few{};
  KernelTable small(few);
  const auto key_of = [](std::uint64_t number) { return 1 + 64 * number; };
  for (std::uint64_t number = 0; number < 32; ++number) {
    for (std::uint64_t sample = 0; sample < 2 + (number == 7 ? 0 : 10); ++sample) {
      ASSERT_TRUE(small.learn(key_of(number), number + 1));
    }
  }
  ASSERT_TRUE(small.learn(key_of(32), 500));
  EXPECT_FLOAT_EQ(small.find(key_of(32)).mean_ns, 500.0F);
  EXPECT_EQ(small.find(key_of(32)).count, 1U);
  EXPECT_EQ(small.find(key_of(7)).count, 0U) << "it made room";
  EXPECT_FLOAT_EQ(small.find(key_of(31)).mean_ns, 32.0F);
}

// Those of programs that ended long ago have many samples, which count less and less.
TEST_F(StateKernelsTest, AFullTableLearnsTheKernelsOfANewProgram) {
  std::array<KernelEntry, 32> few{};
  KernelTable small(few);
  for (std::uint64_t key = 1; key <= 32; ++key) {
    for (int sample = 0; sample < 5000; ++sample) {
      ASSERT_TRUE(small.learn(key, 100));
    }
  }
  constexpr std::uint64_t kNew = 1000;
  for (int round = 0; round < 300; ++round) {
    for (std::uint64_t key = kNew; key < kNew + 16; ++key) {
      ASSERT_TRUE(small.learn(key, 7));
    }
  }
  for (std::uint64_t key = kNew; key < kNew + 16; ++key) {
    EXPECT_GT(small.find(key).count, 200U);
    EXPECT_FLOAT_EQ(small.find(key).mean_ns, 7.0F);
  }
}

TEST_F(StateKernelsTest, SavedTableIsLoadedAgain) {
  for (std::uint64_t key = 1; key < 2000; ++key) {
    table_.learn(key * 0x9e3779b97f4a7c15, key);
  }
  std::vector<std::byte> file(table_.file_bytes());
  ASSERT_EQ(table_.save(file), file.size());
  EXPECT_EQ(table_.save(std::span(file).first(file.size() - 1)), 0U);
  const auto others = std::make_unique<std::array<KernelEntry, kKernelEntries>>();
  KernelTable loaded(*others);
  ASSERT_TRUE(loaded.load(file));
  for (std::uint64_t key = 1; key < 2000; ++key) {
    const KernelEstimate seen = loaded.find(key * 0x9e3779b97f4a7c15);
    EXPECT_EQ(seen.count, 1U);
    EXPECT_FLOAT_EQ(seen.mean_ns, static_cast<float>(key));
  }
}

TEST_F(StateKernelsTest, DamagedFileIsRefusedAsAWhole) {
  table_.learn(5, 100);
  table_.learn(6, 100);
  std::vector<std::byte> file(table_.file_bytes());
  ASSERT_EQ(table_.save(file), file.size());
  const auto others = std::make_unique<std::array<KernelEntry, kKernelEntries>>();
  KernelTable loaded(*others);
  for (std::size_t index = 0; index < file.size(); ++index) {
    std::vector<std::byte> damaged = file;
    damaged[index] ^= std::byte{0x40};
    EXPECT_FALSE(loaded.load(damaged)) << index;
    EXPECT_FALSE(loaded.load(std::span(file).first(index))) << index;
  }
  EXPECT_EQ(loaded.find(5).count, 0U);
  EXPECT_TRUE(loaded.load(file));
}

TEST_F(StateKernelsTest, ThreadsLearnIntoOneTable) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&] {
      for (std::uint64_t sample = 0; sample < 2000; ++sample) {
        table_.learn(1 + sample % 50, 100);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::uint64_t samples = 0;
  for (std::uint64_t key = 1; key <= 50; ++key) {
    samples += table_.find(key).count;
    EXPECT_FLOAT_EQ(table_.find(key).mean_ns, 100.0F);
  }
  EXPECT_EQ(samples, 8000U);
}

TEST(StateLog, ReaderFollowsAClient) {
  const StateFolder folder;
  StateReader reader = folder.reader();
  Client client;
  ASSERT_EQ(folder.join(client), StateError::None);
  EXPECT_EQ(client.log(), nullptr);
  ASSERT_EQ(reader.want(kWantLog), StateError::None);
  KernelLogRing* ring = client.log();
  ASSERT_NE(ring, nullptr);
  LogFollower follower;
  EXPECT_TRUE(reader.follow(client.id(), follower).empty());
  for (std::uint32_t index = 0; index < 100; ++index) {
    log_launch(client.slot().log_head,
               *ring,
               {.key = index + 1,
                .time_ns = std::uint64_t{10} * index,
                .duration_ns = index,
                .stream = 3});
  }
  const std::vector<LaunchRecord> seen = reader.follow(client.id(), follower);
  ASSERT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen[41].key, 42U);
  EXPECT_EQ(seen[41].time_ns, 410U);
  EXPECT_EQ(seen[41].duration_ns, 41U);
  EXPECT_EQ(seen[41].stream, 3U);
  EXPECT_TRUE(reader.follow(client.id(), follower).empty());
  // The oldest are dropped and counted.
  for (std::uint32_t index = 0; index < kLogRecords + 50; ++index) {
    log_launch(client.slot().log_head, *ring, {.key = index});
  }
  EXPECT_EQ(reader.follow(client.id(), follower).size(), kLogRecords);
  EXPECT_EQ(follower.missed(), 50U);
  // A new owner of the slot begins a new log.
  const ClientId gone = client.id();
  client.leave();
  EXPECT_TRUE(reader.follow(gone, follower).empty());
  Client next;
  ASSERT_EQ(folder.join(next), StateError::None);
  ASSERT_NE(next.log(), nullptr);
  LogFollower fresh;
  EXPECT_TRUE(reader.follow(next.id(), fresh).empty());
}

TEST(StateLog, TornRecordsAreNotRead) {
  const auto ring = std::make_unique<KernelLogRing>();
  SharedWord head{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  writers.reserve(2);
  for (int index = 0; index < 2; ++index) {
    writers.emplace_back([&] {
      for (std::uint64_t number = 0; number < 200000; ++number) {
        log_launch(head, *ring, {.key = number, .time_ns = number ^ 0xff});
      }
    });
  }
  std::thread reader([&] {
    LogFollower follower;
    std::vector<LaunchRecord> records(512);
    bool last = false;
    while (!last) {
      last = stop.load();
      const std::size_t count = follower.read(head, *ring, records);
      for (std::size_t index = 0; index < count; ++index) {
        ASSERT_EQ(records[index].key ^ 0xff, records[index].time_ns);
      }
    }
  });
  for (std::thread& writer : writers) {
    writer.join();
  }
  stop.store(true);
  reader.join();
}

TEST(StateReaderTest, SavesTheKernelsOfTheSharedTable) {
  const StateFolder folder;
  Client client;
  ASSERT_EQ(folder.join(client), StateError::None);
  KernelTable shared(client.shared()->kernels);
  shared.learn(77, 1234);
  const auto entries = std::make_unique<std::array<KernelEntry, kKernelEntries>>();
  KernelTable copy(*entries);
  ASSERT_TRUE(copy.load(folder.reader().save_kernels()));
  EXPECT_FLOAT_EQ(copy.find(77).mean_ns, 1234.0F);
}

// A user may cut the file while a server of another user reads it.
TEST(StateReaderTest, SurvivesAFileThatIsCut) {
  const StateFolder folder;
  StateReader reader = folder.reader();
  for (const std::size_t size : {std::size_t{5000}, std::size_t{0}}) {
    std::filesystem::resize_file(folder.file(), size);
    StateReport report;
    EXPECT_EQ(reader.read(report), StateError::Corrupt);
    (void)reader.set_limits(1, {.limit_bytes = kMiB});
    LogFollower follower;
    EXPECT_TRUE(reader.follow({.slot = 0, .generation = 0}, follower).empty());
    EXPECT_TRUE(reader.save_kernels().empty());
  }
}

}  // namespace
}  // namespace carpool::interpose
