#include "evaluate/seeds.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace carpool::evaluate {
namespace {

using Seeds = std::vector<std::uint32_t>;

TEST(Seeds, RangeListAndCount) {
  EXPECT_EQ(parse_seeds("1000-1002"), (Seeds{1000, 1001, 1002}));
  EXPECT_EQ(parse_seeds("10,20,30"), (Seeds{10, 20, 30}));
  EXPECT_EQ(parse_seeds("3"), (Seeds{0, 1, 2}));
  EXPECT_EQ(parse_seeds("7,10-11"), (Seeds{7, 10, 11}));
  EXPECT_EQ(parse_seeds("4294967294-4294967295"), (Seeds{4294967294U, 4294967295U}));
}

TEST(Seeds, WhatIsNoListOfSeedsIsRefused) {
  for (const char* text : {"",
                           "0",
                           "x",
                           "1-",
                           "-1",
                           "5-1",
                           "1,,2",
                           "1.5",
                           "0-4294967295",
                           "99999999999",
                           "1,1",
                           "5-7,6"}) {
    const auto seeds = parse_seeds(text);
    ASSERT_FALSE(seeds.has_value()) << text;
    EXPECT_EQ(seeds.error().code, ErrorCode::InvalidInput);
  }
}

}  // namespace
}  // namespace carpool::evaluate
