#include "base/text/progress_pattern.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(ProgressPattern, FindsLines) {
  const auto pattern = ProgressPattern::make("step [0-9]+/");
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_TRUE(pattern->matches("epoch 1 step 12/100 loss 0.3"));
  EXPECT_FALSE(pattern->matches("step one"));
  EXPECT_FALSE(pattern->matches(std::string(300, ' ') + "step 1/2"));  // beyond what is read
}

TEST(ProgressPattern, RefusesWhatCannotBeMatchedInBoundedTime) {
  for (const std::string& expression :
       {std::string("(a"), std::string("a{9}"), std::string("(a)\\1"), std::string(129, 'a')}) {
    const auto pattern = ProgressPattern::make(expression);
    ASSERT_FALSE(pattern) << expression;
    EXPECT_EQ(pattern.error().code, ErrorCode::InvalidInput);
  }
}

TEST(ProgressPattern, TakesNoExponentialTime) {
  const auto pattern = ProgressPattern::make("(a+)+$");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->matches(std::string(200, 'a') + "b"));  // ends
}

TEST(ProgressPattern, NamesOfSourcesAreNoPatterns) {
  EXPECT_FALSE(is_progress_pattern(""));
  EXPECT_FALSE(is_progress_pattern("none"));
  EXPECT_FALSE(is_progress_pattern("step-file"));
  EXPECT_TRUE(is_progress_pattern("step"));
}

}  // namespace
}  // namespace carpool
