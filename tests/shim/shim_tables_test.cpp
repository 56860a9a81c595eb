// The parts of the library that need no program: tables, and the search for the driver.
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "interpose/library/driver_path.hpp"
#include "interpose/library/fixed_table.hpp"
#include "interpose/library/memory/allocations.hpp"
#include "interpose/library/requests/work_order.hpp"

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

TEST(FixedTable, ChangesAValueInItsPlace) {
  FixedTable<64> table;
  for (std::uint64_t value = 1; value <= 500; ++value) {
    table.put(4096, value);
  }
  table.put(8192, 9);
  EXPECT_EQ(table.find(4096), 500U);
  EXPECT_EQ(table.find(8192), 9U);
}

// Streams 3 and 4, events A and B.
class WorkOrderTest : public testing::Test {
 protected:
  static constexpr StreamKey kCompute = 0x3000;
  static constexpr StreamKey kCopies = 0x4000;
  Handle a_ = reinterpret_cast<Handle>(0xa000);
  Handle b_ = reinterpret_cast<Handle>(0xb000);

  void launch(StreamKey stream, int launches) {
    for (int i = 0; i < launches; ++i) {
      order_->launched(stream);
    }
  }
  // How many launches are left after a wait.
  std::uint64_t wait_for(Handle event) {
    return order_->done(order_->covered_by({.kind = Awaited::Kind::Event, .event = event}));
  }
  std::uint64_t wait_for(StreamKey stream) {
    return order_->done(order_->covered_by({.kind = Awaited::Kind::Stream, .stream = stream}));
  }

  static bool waits_for_legacy(StreamKey stream) { return stream == kCopies; }
  std::unique_ptr<WorkOrder> order_ = std::make_unique<WorkOrder>(&waits_for_legacy);
};

TEST_F(WorkOrderTest, AnEventCoversWhatItsStreamGotBefore) {
  launch(kCompute, 3);
  order_->recorded(a_, kCompute);
  launch(kCompute, 2);
  EXPECT_FALSE(order_->ends_with_event());
  order_->recorded(b_, kCompute);
  EXPECT_TRUE(order_->ends_with_event());
  EXPECT_EQ(wait_for(a_), 2U);
  EXPECT_EQ(wait_for(b_), 0U);
  EXPECT_EQ(wait_for(a_), 0U) << "what is done stays done";
}

TEST_F(WorkOrderTest, AStreamCoversWhatItGotAndWhatItWaitedFor) {
  launch(kCompute, 3);
  EXPECT_EQ(wait_for(kCopies), 3U) << "another stream";
  order_->recorded(a_, kCompute);
  order_->joined(kCopies, a_);
  launch(kCompute, 1);
  EXPECT_EQ(wait_for(kCopies), 1U);
  order_->recorded(b_, kCopies);
  EXPECT_EQ(wait_for(b_), 1U);
  EXPECT_EQ(wait_for(kCompute), 0U);
}

TEST_F(WorkOrderTest, TheLegacyStreamAndUnknownEventsCoverEverything) {
  launch(kCompute, 3);
  EXPECT_EQ(wait_for(b_), 0U);
  launch(kCompute, 3);
  launch(kLegacyStream, 1);
  order_->recorded(a_, kLegacyStream);
  EXPECT_EQ(wait_for(a_), 0U);
  launch(kCompute, 2);
  EXPECT_EQ(wait_for(kLegacyStream), 0U);
  launch(kCompute, 2);
  EXPECT_EQ(order_->done(order_->covered_by(Awaited{})), 0U);
}

TEST_F(WorkOrderTest, StreamsThatFindNoPlaceCoverEverything) {
  constexpr StreamKey kMany = 2000;
  const auto stream = [](StreamKey number) { return 0x10000 + number * 0x100; };
  for (StreamKey number = 0; number < kMany; ++number) {
    launch(stream(number), 1);
    order_->destroyed(stream(number));
  }
  EXPECT_EQ(wait_for(kCompute), kMany) << "destroyed streams leave their place";
  for (StreamKey number = 0; number < kMany; ++number) {
    launch(stream(number), 1);
    ASSERT_EQ(wait_for(stream(number)), 0U) << number;
  }
}

TEST_F(WorkOrderTest, AStreamThatIsNotNonBlockingCoversTheLegacyStream) {
  launch(kCopies, 1);
  launch(kLegacyStream, 2);
  EXPECT_EQ(wait_for(kCompute), 3U);
  EXPECT_EQ(wait_for(kCopies), 0U);
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
