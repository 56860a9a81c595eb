#include "run/supervisor/output_cap.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

constexpr std::size_t kLimit = std::size_t{1} << 20U;

class OutputCapTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "output-cap-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = RunFolder(name);
    print("");
  }
  void TearDown() override { std::filesystem::remove_all(folder_.path()); }

  void print(const std::string& text) const {
    std::ofstream(folder_.stdout_file(), std::ios::app) << text;
  }
  [[nodiscard]] std::uint64_t held_bytes() const {
    struct stat status{};
    EXPECT_EQ(::stat(folder_.stdout_file().c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  // How often the line that tells of the limit is in what is kept.
  [[nodiscard]] int told() const {
    const std::string text = tail_of(folder_.stdout_file(), std::size_t{1} << 30U);
    int count = 0;
    for (std::size_t at = text.find("passed its limit"); at != std::string::npos;
         at = text.find("passed its limit", at + 1)) {
      ++count;
    }
    return count;
  }

  RunFolder folder_{std::filesystem::path()};
};

TEST_F(OutputCapTest, LeavesAShortOutputAlone) {
  OutputCap cap(folder_, kLimit);
  print(std::string(kLimit / 2, 'x'));
  cap.look();
  EXPECT_EQ(told(), 0);
}

TEST_F(OutputCapTest, TellsOfTheLimitOnceInWhatIsKept) {
  OutputCap cap(folder_, kLimit);
  for (int part = 0; part < 7; ++part) {
    print(std::string(kLimit * 3 / 2, 'x'));  // what was told before is among what is dropped
    cap.look();
    EXPECT_LE(held_bytes(), kLimit);
    EXPECT_EQ(told(), 1) << part;
  }
  print(std::string(kLimit / 4, 'x'));  // within the limit
  cap.look();
  EXPECT_EQ(told(), 1);
}

TEST_F(OutputCapTest, NoCapIsNoCap) {
  OutputCap cap(folder_, 0);
  print(std::string(2 * kLimit, 'x'));
  cap.look();
  EXPECT_EQ(told(), 0);
  EXPECT_GE(held_bytes(), 2 * kLimit);
}

}  // namespace
}  // namespace carpool::run
