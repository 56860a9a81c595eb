#include "observe/processor_load.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace carpool::observe {
namespace {

class ProcessorLoadTest : public ::testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(file_) << text; }
  void TearDown() override { std::filesystem::remove(file_); }

  std::filesystem::path file_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stat." + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  ProcessorLoad load_{file_};
};

TEST_F(ProcessorLoadTest, IsTheShareOfIdleTimeSinceTheLastCall) {
  write("cpu 100 0 100 700 100 0 0 0 5 5\ncpu0 1 1 1 1\n");
  EXPECT_FALSE(load_.idle());
  EXPECT_FALSE(load_.idle());  // no time passed
  write("cpu 160 0 100 730 110 0 0 0 9 9\n");
  EXPECT_DOUBLE_EQ(load_.idle().value(), 0.4);
}

TEST_F(ProcessorLoadTest, IsUnknownWhereTheFileTellsNothing) {
  EXPECT_FALSE(load_.idle());
  for (const char* text : {"", "cpu", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"}) {
    write(text);
    EXPECT_FALSE(load_.idle()) << text;
  }
}

TEST(ProcessorLoad, ReadsTheMachine) {
  ProcessorLoad load;
  (void)load.idle();
  std::optional<double> idle;
  while (!idle) {
    idle = load.idle();
  }
  EXPECT_GE(*idle, 0.0);
  EXPECT_LE(*idle, 1.0);
}

}  // namespace
}  // namespace carpool::observe
