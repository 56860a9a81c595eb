#include "profile/steps/step_file.hpp"

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool::profile {
namespace {

// The workload's side, by the offsets of docs/measuring.md.
class Workload {
 public:
  explicit Workload(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status{};
    EXPECT_EQ(::fstat(file, &status), 0);
    size_ = static_cast<std::size_t>(status.st_size);
    memory_ =
        static_cast<char*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  ~Workload() { ::munmap(memory_, size_); }

  template <class Word>
  void put(std::size_t offset, Word value) {
    std::memcpy(memory_ + offset, &value, sizeof value);
  }
  template <class Word>
  [[nodiscard]] Word get(std::size_t offset) const {
    Word value{};
    std::memcpy(&value, memory_ + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  void step(std::uint64_t number, std::uint64_t end) {
    put(64 + 8 * (number % 65'536), end);
    put<std::uint64_t>(16, number + 1);
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};

class StepFileTest : public testing::Test {
 protected:
  StepFile made() {
    auto file = StepFile::create(folder_.path() / "steps");
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return std::move(*file);
  }
  TemporaryFolder folder_;
};

TEST_F(StepFileTest, IsLaidOutAsDocumented) {
  const StepFile file = made();
  const Workload workload(file.path());
  EXPECT_EQ(workload.size(), 64U + 8U * 65'536U);
  EXPECT_EQ(workload.get<std::uint64_t>(0), 0x0031504554535043U);  // "CPSTEP1", little-endian
  EXPECT_EQ(workload.get<std::uint32_t>(8), 1U);
  EXPECT_EQ(workload.get<std::uint32_t>(12), 65'536U);
  EXPECT_EQ(workload.get<std::uint32_t>(28), 0U);  // hold
  EXPECT_EQ(workload.get<double>(32), 1.0);
  struct stat status{};
  ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(StepFileTest, OrdersReachTheWorkload) {
  StepFile file = made();
  const Workload workload(file.path());
  file.give(StepOrder::Run);
  file.set_cores(0xf0);
  EXPECT_EQ(workload.get<std::uint32_t>(28), 1U);
  EXPECT_EQ(workload.get<std::uint64_t>(48), 0xf0U);
  file.give(StepOrder::End);
  EXPECT_EQ(workload.get<std::uint32_t>(28), 2U);
}

TEST_F(StepFileTest, SeesWhatTheWorkloadWrites) {
  const StepFile file = made();
  Workload workload(file.path());
  EXPECT_EQ(file.state(), StepState::Starting);
  EXPECT_FALSE(file.pid().has_value());
  workload.put<std::uint32_t>(24, 1);
  workload.put<double>(32, 8.5);
  workload.put<std::uint64_t>(40, 77);
  workload.step(0, 100);
  workload.step(1, 250);
  EXPECT_EQ(file.state(), StepState::Held);
  EXPECT_EQ(file.units_per_step(), 8.5);
  EXPECT_EQ(file.pid(), 77);
  EXPECT_EQ(file.steps(), 2U);
  EXPECT_EQ(file.ends(0, 1), (std::vector<std::int64_t>{100, 250}));
  EXPECT_EQ(file.ends(1, 1), (std::vector<std::int64_t>{250}));
}

TEST_F(StepFileTest, StepsThatAreNotThereYetOrNoMoreAreNotTold) {
  const StepFile file = made();
  Workload workload(file.path());
  for (std::uint64_t i = 0; i < 65'540; ++i) {
    workload.step(i, 1000 + i);
  }
  EXPECT_FALSE(file.ends(65'539, 65'540).has_value());
  EXPECT_FALSE(file.ends(3, 10).has_value());
  EXPECT_FALSE(file.ends(4, 65'539).has_value());  // the next step overwrites the fourth
  ASSERT_TRUE(file.ends(5, 65'539).has_value());
  EXPECT_EQ(file.ends(5, 65'539)->front(), 1005);
  EXPECT_EQ(file.ends(5, 65'539)->back(), 66'539);
}

TEST_F(StepFileTest, NonsenseOfAWorkloadDoesNoHarm) {
  const StepFile file = made();
  Workload workload(file.path());
  workload.put<std::uint32_t>(24, 99);
  workload.put<std::uint64_t>(16, ~std::uint64_t{0});
  EXPECT_EQ(file.state(), StepState::Ended);
  EXPECT_FALSE(file.ends(0, file.steps() - 1).has_value());
  for (const double units : {-1.0,
                             0.0,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    workload.put(32, units);
    EXPECT_EQ(file.units_per_step(), 1.0);
  }
}

TEST_F(StepFileTest, IsNeverMadeOverAnotherFile) {
  const auto path = folder_.path() / "steps";
  ASSERT_TRUE(write_file(path, "mine").has_value());
  const auto file = StepFile::create(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("cannot create: File exists"), std::string::npos)
      << file.error().message;
  EXPECT_EQ(*read_file(path), "mine");
  EXPECT_FALSE(StepFile::create(folder_.path() / "no" / "steps").has_value());
}

}  // namespace
}  // namespace carpool::profile
