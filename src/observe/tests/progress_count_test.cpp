// Counts that jobs report: steps and lines of output.
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/files/step_file_format.hpp"
#include "base/tests/temporary_folder.hpp"
#include "observe/output_count.hpp"
#include "observe/step_count.hpp"

namespace carpool::observe {
namespace {

class ProgressCountTest : public testing::Test {
 protected:
  void print(const std::string& text) {
    std::ofstream(folder_ / "stdout", std::ios::app | std::ios::binary) << text;
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

TEST_F(ProgressCountTest, StepsAreReadWithTheTimeOfTheLast) {
  const auto path = folder_ / "steps";
  ASSERT_TRUE(write_file(path, step_file_format::counting_file(8)).has_value());
  const auto count = StepCount::open(path);
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_FALSE(count->read(100.0));
  const int file = ::open(path.c_str(), O_RDWR);
  const std::uint64_t steps = 10;
  const std::uint64_t at = 42'000'000'000;  // slot 9 % 8
  EXPECT_EQ(::pwrite(file, &at, 8, step_file_format::kRingAt + 8), 8);
  EXPECT_EQ(::pwrite(file, &steps, 8, step_file_format::kStepsAt), 8);
  ASSERT_TRUE(count->read(100.0));
  EXPECT_DOUBLE_EQ(count->read(100.0)->count, 10.0);
  EXPECT_DOUBLE_EQ(count->read(100.0)->at_s, 42.0);
  EXPECT_DOUBLE_EQ(count->read(30.0)->at_s, 30.0);  // not in the future
  EXPECT_EQ(::ftruncate(file, 20), 0);
  EXPECT_FALSE(count->read(100.0));
  ::close(file);
}

TEST_F(ProgressCountTest, LinesAreCountedAsTheyAppear) {
  OutputCount count(*ProgressPattern::make("^step"), {folder_ / "stdout", folder_ / "stderr"});
  EXPECT_FALSE(count.read(1.0));
  print("start\nstep 1\nste");
  EXPECT_DOUBLE_EQ(count.read(2.0)->count, 1.0);
  print("p 2\rstep 3\n");
  EXPECT_DOUBLE_EQ(count.read(3.0)->count, 3.0);
  EXPECT_DOUBLE_EQ(count.read(4.0)->at_s, 3.0);
}

TEST_F(ProgressCountTest, HugeLinesAndOutputAreBounded) {
  OutputCount count(*ProgressPattern::make("^step"), {folder_ / "stdout"});
  print("step 1\n" + std::string(100'000, 'x') + "step\nstep 2\n");
  EXPECT_DOUBLE_EQ(count.read(1.0)->count, 2.0);
  print(std::string(5U << 20U, 'x'));
  EXPECT_FALSE(count.read(2.0));  // too far behind: it begins anew
  print("\nstep 3\n");
  EXPECT_DOUBLE_EQ(count.read(3.0)->count, 1.0);
}

}  // namespace
}  // namespace carpool::observe
