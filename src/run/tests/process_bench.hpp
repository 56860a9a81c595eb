// A ProcessExecutor in a folder of its own, for tests, with the supervisor program of this folder's
// tests. Whatever it leaves running is ended.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/process_executor.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

class ProcessBench {
 public:
  static constexpr int kPatienceMs = 20'000;
  static constexpr int kShortWhileMs = 500;
  static constexpr bool kOutlivesServer = true;

  // `cgroups`: where attempts get a cgroup; empty: they have none.
  explicit ProcessBench(std::filesystem::path cgroups = {}) : cgroups_(std::move(cgroups)) {
    std::string name = (std::filesystem::temp_directory_path() / "cp-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    restart();
  }
  ProcessBench(const ProcessBench&) = delete;
  ProcessBench& operator=(const ProcessBench&) = delete;
  ~ProcessBench() {
    executor_.reset();
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "runs", ignored)) {
      const auto claim = RunFolder(entry.path()).claimed();
      if (claim && *claim && !(*claim)->abandoned) {
        gpu::send_signal((*claim)->supervisor, SIGKILL);
      }
    }
    std::filesystem::remove_all(root_, ignored);
  }

  // As a server that was killed and started again: only the folders are left.
  void restart() { open(settings()); }
  void refuse_launches() { open_with((root_ / "no-such-program").string()); }
  void open_with(const std::string& program) {
    ProcessExecutorSettings changed = settings();
    changed.program = program;
    open(changed);
  }
  [[nodiscard]] ProcessExecutorSettings settings() const {
    return {.runs = root_ / "runs",
            .mps = root_ / "mps",
            .program = CARPOOL_SUPERVISOR_PROGRAM,
            .journal = "journal-of-the-bench",
            .clock = {},
            .cgroups = cgroups_};
  }
  void open(const ProcessExecutorSettings& settings) {
    auto opened = ProcessExecutor::open(settings);
    ASSERT_TRUE(opened) << opened.error().message;
    executor_ = std::move(*opened);
  }

  // A shell script in the folder of the bench.
  [[nodiscard]] std::string script(const std::string& name, const std::string& lines) const {
    const std::filesystem::path file = root_ / name;
    std::ofstream(file) << "#!/bin/sh\n" << lines << "\n";
    std::filesystem::permissions(file, std::filesystem::perms{0755});
    return file.string();
  }

  // How the attempt ended; nothing: no end is reported in time.
  [[nodiscard]] std::optional<RunExit> end_of(RunId run, int patience_ms = kPatienceMs) {
    const Stopwatch watch;
    do {
      for (const RunReport& report : executor_->take_reports()) {
        if (report.kind == RunReport::Kind::Ended && report.run == run) {
          return report.exit;
        }
      }
    } while (watch.seconds() * 1000.0 < patience_ms && wait(patience_ms));
    return std::nullopt;
  }

  [[nodiscard]] ProcessExecutor& executor() { return *executor_; }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] RunFolder folder(RunId run) const { return RunFolder::of(root_ / "runs", run); }

  [[nodiscard]] LaunchSpec spec(std::vector<std::string> argv, RunId run) const {
    LaunchSpec launch{.run = run, .owner = {.uid = ::geteuid(), .user = "me"}};
    launch.job.argv = std::move(argv);
    launch.job.cwd = root_.string();
    launch.job.env = {{"PATH", "/usr/bin:/bin"}};
    launch.gpu_uuids = {"GPU-00000000-0000-0000-0000-000000000001"};
    launch.gpu_indices = {0};
    return launch;
  }
  [[nodiscard]] LaunchSpec short_job(RunId run) const { return spec({"true"}, run); }
  [[nodiscard]] LaunchSpec lasting_job(RunId run) const {
    return spec({"sh", "-c", fmt::format("touch {}; exec sleep 600", begun_file(run))}, run);
  }

  // Until take_reports() has something to do.
  [[nodiscard]] bool wait(int patience_ms = kPatienceMs) const {
    pollfd waiting{executor_->wake_descriptor(), POLLIN, 0};
    return ::poll(&waiting, 1, patience_ms) > 0;
  }
  void await_begin(RunId run) const { await_file(root_ / begun_file(run)); }
  void await_end(RunId run) const {
    await_file(folder(run).path() / "exit");
    // The supervisor ends a moment after it has written how the job ended.
    const auto claim = folder(run).claimed();
    ASSERT_TRUE(claim && *claim);
    await([&] { return !gpu::is_alive((*claim)->supervisor); });
  }
  static void await_file(const std::filesystem::path& file) {
    await([&] { return std::filesystem::exists(file); });
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
  }
  template <class Condition>
  static void await(const Condition& condition) {
    for (int waited = 0; waited < kPatienceMs && !condition(); waited += 5) {
      pause_for(std::chrono::milliseconds(5));
    }
  }

 private:
  [[nodiscard]] static std::string begun_file(RunId run) {
    return fmt::format("begun-{}.{}", run.job, run.attempt);
  }

  std::filesystem::path cgroups_;
  std::filesystem::path root_;
  std::unique_ptr<ProcessExecutor> executor_;
};

}  // namespace carpool::run
