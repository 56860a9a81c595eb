// How long a job stands still without a server, with real processes.
#include <csignal>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/files/proc_file.hpp"
#include "run/job_pause.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

// The supervisor's part, with this process as the supervisor of one child.
class WithoutServer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_.make());
    child_ = ::fork();
    if (child_ == 0) {
      while (true) {
        ::pause();
      }
    }
    const pid_t server = ::fork();
    if (server == 0) {
      ::_exit(0);
    }
    dead_ = {server, 1};
    ::waitpid(server, nullptr, 0);
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  [[nodiscard]] bool stopped() const {
    const auto stat = gpu::parse_process_stat(read_proc_file(fmt::format("/proc/{}/stat", child_)));
    return stat && stat->state == 'T';
  }

  ProcessBench bench_;
  RunFolder folder_ = bench_.folder({1, 1});
  SupervisedProcesses processes_{std::filesystem::path()};
  pid_t child_ = 0;
  gpu::ProcessIdentity dead_{};
};

TEST_F(WithoutServer, AJobGoesOnWhenTheServerIsGoneForTooLong) {
  ASSERT_TRUE(folder_.write_pause(dead_, ""));
  JobPause patient(folder_, processes_, 1e6);
  patient.look();
  EXPECT_TRUE(patient.held());
  EXPECT_TRUE(stopped());
  patient.look();
  EXPECT_TRUE(stopped());
  patient.end();
  EXPECT_FALSE(stopped());
  JobPause impatient(folder_, processes_, 0.0);
  impatient.look();
  EXPECT_FALSE(impatient.held());
  EXPECT_FALSE(stopped());
  EXPECT_EQ(folder_.pause().value_or(dead_), std::nullopt) << "the next server asks again";
}

TEST_F(WithoutServer, AServerThatLivesKeepsThePause) {
  ASSERT_TRUE(folder_.write_pause(gpu::identify(::getpid()).value_or(dead_), ""));
  JobPause pause(folder_, processes_, 0.0);
  pause.look();
  EXPECT_TRUE(pause.held());
  EXPECT_TRUE(stopped());
  ASSERT_TRUE(folder_.remove_pause());
  pause.look();
  EXPECT_FALSE(stopped());
}

TEST_F(WithoutServer, ADamagedRequestIsOneOfAServerThatIsGone) {
  ASSERT_TRUE(write_file(folder_.path() / "pause", "{"));
  JobPause patient(folder_, processes_, 1e6);
  patient.look();
  EXPECT_TRUE(patient.held());
  patient.end();
  JobPause impatient(folder_, processes_, 0.0);
  impatient.look();
  EXPECT_FALSE(impatient.held());
}

}  // namespace
}  // namespace carpool::run
