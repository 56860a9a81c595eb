#include "app/inputs/job_selection.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

TEST(JobWord, IsANumberARangeOrTheLastJob) {
  const auto one = parse_job_word("17");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->first, 17);
  EXPECT_TRUE(one->single());
  const auto range = parse_job_word("3-12");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 3);
  EXPECT_EQ(range->last, 12);
  EXPECT_FALSE(range->single());
  const auto last = parse_job_word("@");
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->last_submitted);
  EXPECT_TRUE(last->single());
}

TEST(JobWord, IsAnArrayOrSomeOfItsIndices) {
  for (const char* text : {"17[]", "17_[]"}) {
    const auto all = parse_job_word(text);
    ASSERT_TRUE(all) << text;
    EXPECT_TRUE(all->array && all->indices.empty() && all->first == 17) << text;
    EXPECT_FALSE(all->single());
  }
  const auto some = parse_job_word("17_[0-2,5]");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->indices, (std::vector{0, 1, 2, 5}));
  EXPECT_FALSE(some->single());
  const auto one = parse_job_word("17_3");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->indices, std::vector{3});
  EXPECT_TRUE(one->single());
  EXPECT_TRUE(parse_job_word("@[]")->array);
}

TEST(JobWord, RefusesWhatNamesNoJob) {
  for (const char* text : {"",
                           "0",
                           "-3",
                           "1.5",
                           "seventeen",
                           "12-3",
                           "3-",
                           "3-12[]",
                           "17_",
                           "17_[",
                           "17_x",
                           "[]",
                           "@3",
                           "1-10001",
                           "99999999999999999999"}) {
    const auto word = parse_job_word(text);
    ASSERT_FALSE(word) << text;
    EXPECT_EQ(word.error().code, ErrorCode::InvalidInput);
  }
}

JobSelection selection(std::vector<std::string> words,
                       std::optional<std::string> name = std::nullopt,
                       bool all_mine = false) {
  return {.words = std::move(words), .name = std::move(name), .all_mine = all_mine};
}

TEST(JobSelection, NeedsWordsOrOneOfTheOptions) {
  EXPECT_FALSE(read_job_selection(selection({})));
  EXPECT_FALSE(read_job_selection(selection({"3"}, std::nullopt, true)));
  EXPECT_FALSE(read_job_selection(selection({"3"}, "a*")));
  EXPECT_FALSE(read_job_selection(selection({"3", "x"})));
  EXPECT_FALSE(read_job_selection(selection({}, "a*"))->single());
  EXPECT_FALSE(read_job_selection(selection({"3", "4"}))->single());
  EXPECT_TRUE(read_job_selection(selection({"3"}))->single());
}

TEST(RangesText, JoinsNumbersThatFollowEachOther) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({4}), "4");
  EXPECT_EQ(ranges_text({3, 4, 5, 9}), "3-5, 9");
}

}  // namespace
}  // namespace carpool::app
