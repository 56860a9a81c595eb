// The parts of the library that need no program: tables, and the search for the driver.
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/library/driver_path.hpp"
#include "interpose/library/fixed_table.hpp"
#include "interpose/library/memory/allocations.hpp"

namespace carpool::interpose {
namespace {

TEST(FixedTable, FindsReplacesAndForgets) {
  FixedTable<64> table;
  EXPECT_EQ(table.find(4096), 0U);
  table.set(4096, 7);
  table.set(8192, 9);
  table.set(4096, 8);
  EXPECT_EQ(table.find(4096), 8U);
  EXPECT_EQ(table.find(8192), 9U);
  table.erase(4096);
  EXPECT_EQ(table.find(4096), 0U);
  EXPECT_EQ(table.find(8192), 9U);
  table.clear();
  EXPECT_EQ(table.find(8192), 0U);
}

TEST(FixedTable, KeepsWhatFitsWhenItIsFull) {
  FixedTable<64> table;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    table.set(i * 4096, i);
  }
  int found = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const std::uint64_t value = table.find(i * 4096);
    EXPECT_TRUE(value == 0 || value == i);
    found += value == 0 ? 0 : 1;
  }
  EXPECT_GT(found, 32);
}

// Whoever finds a key finds its own value, also where two threads have looked at the same place.
TEST(FixedTable, ThreadsThatInsertAtOnceDoNotShareAPlace) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kRounds = 100'000;
  FixedTable<4> table;
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&table, &wrong, thread] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t key = (1 + thread + kThreads * round) * 4096;
        table.set(key, key);
        const std::uint64_t found = table.find(key);
        wrong += found != 0 && found != key ? 1 : 0;
        table.erase(key);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0U);
}

TEST(AllocationTable, GivesBackWhatWasAddedThroughGrowthAndReuse) {
  AllocationTable table;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 1; i <= 20000; ++i) {
      ASSERT_TRUE(table.add({.kind = AllocationKind::Pointer, .key = i * 512, .bytes = i}));
    }
    for (std::uint64_t i = 1; i <= 20000; ++i) {
      ASSERT_EQ(table.take(AllocationKind::Pointer, i * 512).bytes, i);
    }
    EXPECT_EQ(table.take(AllocationKind::Pointer, 512).kind, AllocationKind::None);
  }
}

TEST(AllocationTable, EndsWithTheLastReference) {
  AllocationTable table;
  ASSERT_TRUE(table.add({.kind = AllocationKind::Memory, .key = 5, .bytes = 100}));
  table.retain(AllocationKind::Memory, 5);
  EXPECT_EQ(table.drop(AllocationKind::Memory, 5).kind, AllocationKind::None);
  EXPECT_EQ(table.drop(AllocationKind::Memory, 5).bytes, 100U);
  EXPECT_EQ(table.drop(AllocationKind::Memory, 5).kind, AllocationKind::None);
}

TEST(AllocationTable, TakesWhatBelongsToAContextOrADevice) {
  AllocationTable table;
  ASSERT_TRUE(table.add({.kind = AllocationKind::Pointer, .key = 1, .bytes = 10, .owner = 70}));
  ASSERT_TRUE(table.add(
      {.kind = AllocationKind::Pointer, .device = 1, .key = 2, .bytes = 20, .owner = 80}));
  ASSERT_TRUE(table.add({.kind = AllocationKind::Memory, .device = 1, .key = 3, .bytes = 40}));
  EXPECT_EQ(table.take_of(70, 0).bytes, 10U);
  EXPECT_EQ(table.take_of(70, 0).kind, AllocationKind::None);
  EXPECT_EQ(table.take_of(0, 1).bytes, 20U);
  EXPECT_EQ(table.take_of(0, 1).kind, AllocationKind::None);
}

// The cache of glibc: a header, entries, texts.
std::string cache_with(const std::string& name, const std::string& path, std::int32_t flags) {
  std::string cache = "glibc-ld.so.cache1.1";
  const auto put = [&cache](auto number) {
    const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number);
    cache.append(bytes.data(), bytes.size());
  };
  put(std::uint32_t{1});
  cache.resize(48, '\0');
  constexpr std::uint32_t kTexts = 48 + 24;
  put(flags);
  put(kTexts);
  put(static_cast<std::uint32_t>(kTexts + name.size() + 1));
  put(std::uint32_t{0});
  put(std::uint64_t{0});
  cache += name + '\0' + path + '\0';
  return cache;
}

TEST(DriverPath, ReadsTheCacheOfTheLoader) {
  const std::string cache = cache_with("libcuda.so.1", "/usr/lib/libcuda.so.1", 0x303);
  EXPECT_EQ(driver_in_cache(cache), "/usr/lib/libcuda.so.1");
  EXPECT_EQ(driver_in_cache("older format " + cache), "/usr/lib/libcuda.so.1");
  EXPECT_EQ(driver_in_cache(cache_with("libcuda.so.1", "/usr/lib32/libcuda.so.1", 0x3)), "");
  EXPECT_EQ(driver_in_cache(cache_with("libc.so.6", "/usr/lib/libc.so.6", 0x303)), "");
}

TEST(DriverPath, SurvivesADamagedCache) {
  const std::string cache = cache_with("libcuda.so.1", "/usr/lib/libcuda.so.1", 0x303);
  for (std::size_t length = 0; length < cache.size(); ++length) {
    EXPECT_EQ(driver_in_cache(cache.substr(0, length)), "") << length;
  }
}

}  // namespace
}  // namespace carpool::interpose
