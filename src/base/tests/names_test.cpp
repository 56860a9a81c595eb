#include "base/text/names.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool {
namespace {

struct NamedEntry {
  std::string_view name;
  int value = 0;
};
constexpr std::array kEntries = {NamedEntry{"share", 1}, NamedEntry{"kace-lr", 2}};

TEST(Names, AnEntryIsFoundByItsName) {
  const auto found = find_named(std::span<const NamedEntry>(kEntries), "model", "kace-lr");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->value, 2);
}

TEST(Names, AnUnknownNameIsAnErrorWithTheNearestAndAllKnownNames) {
  const auto found = find_named(std::span<const NamedEntry>(kEntries), "model", "shere");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::NotFound);
  EXPECT_EQ(found.error().message,
            "unknown model \"shere\"; did you mean \"share\"?; known: share, kace-lr");
}

TEST(Names, NothingIsSuggestedForADistantOrVeryLongName) {
  EXPECT_EQ(nearest_name("zebra crossing", {"share", "kace-lr"}), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 's'), {"share"}), std::nullopt);
  EXPECT_EQ(suggestion("zebra crossing", {"share"}), "");
}

TEST(MemorySize, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_memory_size("12G"), std::uint64_t{12} << 30U);
  EXPECT_EQ(parse_memory_size("12 GiB"), std::uint64_t{12} << 30U);
  EXPECT_EQ(parse_memory_size("1.5g"), std::uint64_t{3} << 29U);
  EXPECT_EQ(parse_memory_size("512M"), std::uint64_t{512} << 20U);
  EXPECT_EQ(parse_memory_size("1TB"), std::uint64_t{1} << 40U);
  EXPECT_EQ(parse_memory_size("4096B"), 4096U);
}

TEST(MemorySize, ABareNumberIsAskedForItsUnit) {
  EXPECT_EQ(parse_memory_size("12").error().message,
            "12 has no unit; write 12G for 12 GiB or 12M for 12 MiB");
  EXPECT_EQ(parse_memory_size("1.5").error().message,
            "1.5 has no unit; write 1.5G for 1.5 GiB or 1.5M for 1.5 MiB");
}

TEST(MemorySize, AnythingElseIsAnError) {
  for (const char* text : {"", "G", "12Q", "-1G", "0", "nan", "inf", "1e30", "1 G B", "12Gi"}) {
    const auto size = parse_memory_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().message,
              std::string("\"") + text + "\" is not a memory size; write 12G or 512M");
  }
}

TEST(MemorySize, TextHasADigitOnlyWhereItIsNotWhole) {
  EXPECT_EQ(gib_text(std::uint64_t{12} << 30U), "12 GiB");
  EXPECT_EQ(gib_text(std::uint64_t{25} << 29U), "12.5 GiB");
  EXPECT_EQ(gib_text(0), "0 GiB");
}

}  // namespace
}  // namespace carpool
