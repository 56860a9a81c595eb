#include "core/environment.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Environment, CopiesShareOneMapUntilOneChanges) {
  const Environment first{{"A", "1"}};
  Environment second = first;
  EXPECT_EQ(&first.map(), &second.map());
  second.set("B", "2");
  EXPECT_EQ(first.map(), (Environment::Map{{"A", "1"}}));
  EXPECT_EQ(second.map(), (Environment::Map{{"A", "1"}, {"B", "2"}}));
  EXPECT_NE(first, second);
}

TEST(Environment, IsEqualByItsVariables) {
  EXPECT_EQ((Environment{{"A", "1"}}), (Environment{{"A", "1"}}));
  Environment cleared{{"A", "1"}};
  cleared.clear();
  EXPECT_TRUE(cleared.empty());
  EXPECT_EQ(cleared, Environment());
  EXPECT_EQ(Environment(Environment::Map{}), Environment());
}

}  // namespace
}  // namespace carpool
