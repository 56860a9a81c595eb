#include "observe/progress_watch.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu/cupti/window_format.hpp"

namespace carpool::observe {
namespace {

namespace format = gpu::window_format;

class ProgressWatchTest : public testing::Test {
 protected:
  ProgressWatchTest() {
    std::string name = (std::filesystem::temp_directory_path() / "cp-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const JobId job : {7, 8}) {
      EXPECT_TRUE(gpu::WindowFile::create(file_of(job), std::nullopt).has_value());
      jobs_.push_back({.job = job, .attempt = 1, .window_file = file_of(job)});
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file_of(JobId job) const {
    return folder_ / std::to_string(job);
  }

  // Reads each second; returns the rates that it added.
  std::map<JobId, MeasuredRate> look(const std::vector<JobId>& on_gpu) {
    now_s_ += 1.0;
    std::vector<GpuObservation> seen(1);
    for (const JobId job : on_gpu) {
      seen[0].jobs.push_back({.job = job});
    }
    watch_.update(static_cast<std::int64_t>(now_s_ * 1e9), jobs_, seen);
    std::map<JobId, MeasuredRate> rates;
    for (const auto& job : seen[0].jobs) {
      if (job.rate) {
        rates[job.job] = *job.rate;
      }
    }
    return rates;
  }

  std::map<JobId, MeasuredRate> look_for(int seconds, const std::vector<JobId>& on_gpu) {
    std::map<JobId, MeasuredRate> all;
    for (int i = 0; i < seconds; ++i) {
      all.merge(look(on_gpu));
    }
    return all;
  }

  // The number of the last window that was ordered.
  std::uint32_t ordered(JobId job) {
    std::uint32_t number = 0;
    const int file = ::open(file_of(job).c_str(), O_RDWR);
    EXPECT_EQ(::pread(file, &number, sizeof number, offsetof(format::Block, order)),
              static_cast<ssize_t>(sizeof number));
    ::close(file);
    return number;
  }

  // As a process of the job.
  void answer(JobId job, format::State state, std::uint64_t launches, std::size_t slot = 0) {
    struct {
      std::uint32_t pid = 1;
      std::uint32_t window = 0;
      std::uint32_t state = 0;
      std::int32_t code = 39;
      std::uint64_t launches = 0;
      std::int64_t over_ns = 2'000'000'000;
    } bytes;
    bytes.window = ordered(job);
    bytes.state = static_cast<std::uint32_t>(state);
    bytes.launches = launches;
    const int file = ::open(file_of(job).c_str(), O_RDWR);
    const auto at =
        static_cast<off_t>(offsetof(format::Block, slots) + slot * sizeof(format::Slot));
    EXPECT_EQ(::pwrite(file, &bytes, sizeof bytes, at), static_cast<ssize_t>(sizeof bytes));
    ::close(file);
  }

  std::filesystem::path folder_;
  std::vector<WatchedJob> jobs_;
  std::vector<std::string> told_;
  ProgressWatch watch_{{.tell = [this](JobId job, const std::string& why) {
    told_.push_back(std::to_string(job) + ": " + why);
  }}};
  double now_s_ = 1000.0;
};

TEST_F(ProgressWatchTest, TheRateOfAWindowIsThatOfAllProcesses) {
  EXPECT_TRUE(look_for(6, {7}).empty());
  EXPECT_EQ(ordered(7), 1U);
  EXPECT_EQ(ordered(8), 0U);  // not on a GPU
  answer(7, format::State::Open, 0);
  answer(7, format::State::Done, 4000, 1);
  EXPECT_TRUE(look({7}).empty());
  answer(7, format::State::Done, 2000);
  const auto rates = look({7});
  ASSERT_TRUE(rates.contains(7));
  EXPECT_DOUBLE_EQ(rates.at(7).per_s, 3000.0);
  EXPECT_DOUBLE_EQ(rates.at(7).over_s, 2.0);
  EXPECT_EQ(rates.at(7).source, ProgressSource::Launches);
  EXPECT_TRUE(look_for(20, {7}).empty());  // told once
}

TEST_F(ProgressWatchTest, AWindowInWhichTheGroupChangedGivesNoRate) {
  (void)look_for(6, {7});
  EXPECT_TRUE(look({7, 8}).empty());
  answer(7, format::State::Done, 2000);
  EXPECT_TRUE(look({7, 8}).empty());
  (void)look_for(5, {7, 8});
  EXPECT_EQ(ordered(7), 2U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, RefusedSpoiledAndNearlyEmptyWindowsGiveNoRate) {
  (void)look_for(6, {7, 8});
  answer(7, format::State::Busy, 0);
  answer(8, format::State::Spoiled, 900);
  EXPECT_TRUE(look_for(3, {7, 8}).empty());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], "7: another profiler uses CUPTI in its process");
  (void)look_for(60, {7, 8});
  answer(7, format::State::Busy, 0);
  answer(8, format::State::Done, 3);
  EXPECT_TRUE(look_for(3, {7, 8}).empty());
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(ProgressWatchTest, AJobThatReportsStepsIsNotCountedByItsLaunches) {
  double steps = 0.0;
  jobs_[0].counters = [&] {
    return std::vector<ProgressCounter>{
        {ProgressSource::Steps, [&](double now_s) -> std::optional<CountSeen> {
           steps += 10.0;
           return CountSeen{.count = steps, .at_s = now_s};
         }}};
  };
  const auto rates = look_for(12, {7, 8});
  ASSERT_TRUE(rates.contains(7));
  EXPECT_EQ(rates.at(7).source, ProgressSource::Steps);
  EXPECT_NEAR(rates.at(7).per_s, 10.0, 1e-6);
  EXPECT_EQ(ordered(7), 0U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, APausedJobDoesNotCompute) {
  jobs_[0].paused = true;
  (void)look_for(10, {7, 8});
  EXPECT_EQ(ordered(7), 0U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, AFileThatTheUserCutsIsToldAndHarmless) {
  std::filesystem::resize_file(file_of(7), 3);
  EXPECT_TRUE(look_for(10, {7}).empty());
  EXPECT_EQ(told_.size(), 1U);
}

TEST(ProgressRate, SpansNoChangeOfTheGroup) {
  ProgressRate rate(ProgressSource::Steps);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 1.0}));
  EXPECT_FALSE(rate.add({.count = 4.0, .at_s = 4.0}));
  rate.restart(5.0);
  EXPECT_FALSE(rate.add({.count = 5.0, .at_s = 4.9}));
  EXPECT_FALSE(rate.add({.count = 6.0, .at_s = 6.0}));
  EXPECT_FALSE(rate.add({.count = 8.0, .at_s = 8.0}));
  const auto measured = rate.add({.count = 16.0, .at_s = 11.0});
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->per_s, 2.0);
  EXPECT_DOUBLE_EQ(measured->over_s, 5.0);
}

TEST(ProgressRate, WaitsForSlowSteps) {
  ProgressRate rate(ProgressSource::Output);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 0.0}));
  EXPECT_FALSE(rate.add({.count = 2.0, .at_s = 15.0}));
  const auto measured = rate.add({.count = 3.0, .at_s = 30.0});
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->per_s, 2.0 / 30.0);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 60.0}));  // the count began anew
}

}  // namespace
}  // namespace carpool::observe
