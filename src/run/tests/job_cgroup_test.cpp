#include "run/job_cgroup.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/process/cgroup.hpp"
#include "run/tests/process_bench.hpp"
#include "run/tests/scratch_cgroup.hpp"

namespace carpool::run {
namespace {

// In a process of its own: the cgroup in which it finds itself after dividing `start`, and `jobs/`.
std::string divided_from(const std::filesystem::path& start) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto entered = enter_cgroup(start, ::getpid());
    const auto jobs = entered.and_then([] { return divide_own_cgroup(); });
    const std::string text =
        jobs ? cgroup_of(::getpid()).value_or("none").string() + " " + jobs->string()
             : jobs.error().message;
    ::_exit(::write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  ::waitpid(pid, nullptr, 0);
  std::array<char, 1024> text{};
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::close(ends[1]);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

TEST(JobCgroup, ADelegatedCgroupIsDividedOnce) {
  const ScratchCgroup scratch;
  if (scratch.jobs().empty()) {
    GTEST_SKIP() << "no cgroup version 2 that this user may divide";
  }
  const std::filesystem::path unit = scratch.jobs().parent_path() / "carpool.service";
  ASSERT_TRUE(make_cgroup(unit));
  const std::string divided = (unit / "server").string() + " " + (unit / "jobs").string();
  EXPECT_EQ(divided_from(unit), divided);
  EXPECT_EQ(divided_from(unit / "server"), divided) << "the next server, started in the same part";
}

TEST(JobCgroup, AllJobsTogetherAreLimited) {
  const ProcessBench bench;
  const std::filesystem::path base = bench.root() / "base";
  std::filesystem::create_directories(base / "jobs");
  const std::vector<std::filesystem::path> files = {base / "cgroup.subtree_control",
                                                    base / "jobs" / "cgroup.subtree_control",
                                                    base / "jobs" / "pids.max",
                                                    base / "jobs" / "memory.max"};
  for (const std::filesystem::path& file : files) {
    ASSERT_TRUE(write_file(file, ""));
  }
  limit_all_jobs(base, false);
  EXPECT_EQ(read_file(files[0]), "+memory");  // written last
  EXPECT_EQ(read_file(files[1]), "+memory");
  EXPECT_GT(std::stoull(read_file(files[2]).value_or("0")), 1000U);
  EXPECT_GT(std::stoull(read_file(files[3]).value_or("0")), std::uint64_t{256} << 20U);
}

TEST(JobCgroup, NamesDifferBetweenServersAndAttempts) {
  const std::filesystem::path jobs = "/sys/fs/cgroup/jobs";
  const auto name = job_cgroup_path(jobs, "/a/runs", "journal", {17, 2});
  EXPECT_EQ(name.parent_path(), jobs);
  EXPECT_TRUE(name.filename().string().ends_with("-17.2"));
  EXPECT_EQ(name, job_cgroup_path(jobs, "/a/runs", "journal", {17, 2}));
  EXPECT_NE(name, job_cgroup_path(jobs, "/b/runs", "journal", {17, 2}));
  EXPECT_NE(name, job_cgroup_path(jobs, "/a/runs", "other", {17, 2}));
}

}  // namespace
}  // namespace carpool::run
