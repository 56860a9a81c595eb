// Two jobs with window files, which a test answers as their processes do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/tests/temporary_folder.hpp"
#include "gpu/cupti/window_format.hpp"
#include "observe/progress_watch.hpp"

namespace carpool::observe::fake {

class WatchedFiles : public testing::Test {
 protected:
  WatchedFiles() {
    for (const JobId job : {7, 8}) {
      EXPECT_TRUE(gpu::WindowFile::create(file_of(job), std::nullopt).has_value());
      jobs_.push_back({.job = job, .attempt = 1, .window_file = file_of(job)});
    }
  }

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
      if (job.window) {
        windows_[job.job].push_back(*job.window);
      }
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

  [[nodiscard]] gpu::window_format::Kind ordered_kind(JobId job) const {
    gpu::window_format::Kind kind{};
    const int file = ::open(file_of(job).c_str(), O_RDWR);
    constexpr std::size_t kAt =
        offsetof(gpu::window_format::Block, order) + offsetof(gpu::window_format::Order, kind);
    EXPECT_EQ(::pread(file, &kind, sizeof kind, kAt), static_cast<ssize_t>(sizeof kind));
    ::close(file);
    return kind;
  }

  // The number of the last window that was ordered.
  std::uint32_t ordered(JobId job) {
    std::uint32_t number = 0;
    const int file = ::open(file_of(job).c_str(), O_RDWR);
    EXPECT_EQ(::pread(file, &number, sizeof number, offsetof(gpu::window_format::Block, order)),
              static_cast<ssize_t>(sizeof number));
    ::close(file);
    return number;
  }

  // As a process of the job.
  void answer(JobId job,
              gpu::window_format::State state,
              std::uint64_t launches,
              std::size_t slot = 0,
              const gpu::window_format::Kernels& kernels = {}) {
    struct {
      std::uint32_t pid = 1;
      std::uint32_t window = 0;
      std::uint32_t state = 0;
      std::int32_t code = 39;
      std::uint64_t launches = 0;
      std::int64_t over_ns = 2'000'000'000;
      gpu::window_format::Kernels kernels{};
    } bytes;
    bytes.window = ordered(job);
    bytes.state = static_cast<std::uint32_t>(state);
    bytes.launches = launches;
    bytes.kernels = kernels;
    const int file = ::open(file_of(job).c_str(), O_RDWR);
    const auto at = static_cast<off_t>(offsetof(gpu::window_format::Block, slots) +
                                       slot * sizeof(gpu::window_format::Slot));
    EXPECT_EQ(::pwrite(file, &bytes, sizeof bytes, at), static_cast<ssize_t>(sizeof bytes));
    ::close(file);
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  std::vector<WatchedJob> jobs_;
  std::map<JobId, std::vector<KernelWindow>> windows_;
  std::vector<std::string> told_;
  ProgressWatch watch_{{.tell =
                            [this](JobId job, const std::string& why) {
                              told_.push_back(std::to_string(job) + ": " + why);
                            },
                        .tell_kernels =
                            [this](JobId job, const std::string& why) {
                              told_.push_back(std::to_string(job) + ", kernels: " + why);
                            }}};
  double now_s_ = 1000.0;
};

}  // namespace carpool::observe::fake
