#include "base/numpy_random.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace carpool {
namespace {

// Expected values printed by NumPy 1.24: numpy.random.RandomState(seed).<call>.
TEST(NumpyRandom, PermutationAgreesWithNumpy) {
  NumpyRandom random(10);
  EXPECT_EQ(random.permutation(10), (std::vector<std::size_t>{8, 2, 5, 6, 3, 1, 0, 7, 4, 9}));
}

TEST(NumpyRandom, UniformAgreesWithNumpy) {
  NumpyRandom random(42);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.3745401188473625);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.9507143064099162);
}

TEST(NumpyRandom, NormalAgreesWithNumpy) {
  NumpyRandom random(42);
  EXPECT_DOUBLE_EQ(random.normal(), 0.4967141530112327);
  EXPECT_DOUBLE_EQ(random.normal(), -0.13826430117118466);
  EXPECT_DOUBLE_EQ(random.normal(), 0.6476885381006925);
}

// sklearn.model_selection.train_test_split(range(11), test_size=0.2, random_state=30)
TEST(TrainTestSplit, AgreesWithScikitLearn) {
  const HoldOut split = train_test_split(11, 0.2, 30);
  EXPECT_EQ(split.train, (std::vector<std::size_t>{1, 3, 9, 2, 8, 4, 10, 5}));
  EXPECT_EQ(split.test, (std::vector<std::size_t>{0, 7, 6}));
}

}  // namespace
}  // namespace carpool
