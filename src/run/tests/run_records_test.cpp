#include "run/run_records.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "run/start_trouble.hpp"

namespace carpool::run {
namespace {

ExitRecord sample_exit() {
  return {.code = 3,
          .signal = std::nullopt,
          .not_started = "no disk \xFF",
          .trouble = TroubleScope::User,
          .stop_asked = true,
          .gpu_fault = true,
          .at_s = 1700000000.25,
          .boot_s = 12.125,
          .boot = "boot",
          .journal = "journal"};
}

TEST(RunRecords, AnExitSurvivesWritingAndReading) {
  const auto read = read_exit(write_exit(sample_exit()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->code, 3);
  EXPECT_FALSE(read->signal);
  EXPECT_EQ(read->trouble, TroubleScope::User);
  EXPECT_TRUE(read->stop_asked);
  EXPECT_TRUE(read->gpu_fault);
  EXPECT_EQ(read->at_s, 1700000000.25);
  EXPECT_EQ(read->boot_s, 12.125);
  EXPECT_EQ(read->boot, "boot");
  EXPECT_EQ(read->journal, "journal");
}

TEST(RunRecords, EveryCutAndEveryAlteredByteOfAnExitIsFound) {
  const std::string whole = write_exit(sample_exit());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(read_exit(whole.substr(0, i))) << i;
    std::string altered = whole;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    const auto read = read_exit(altered);
    EXPECT_FALSE(read) << altered;
    if (!read) {
      EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
    }
  }
}

TEST(RunRecords, AnExitOfAnOlderVersionIsRead) {
  const auto read = read_exit(
      R"({"at_s":5.5,"host_memory":true,"mps_fault":false,"signal":9,"stop_asked":false})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->signal, 9);
  EXPECT_TRUE(read->host_memory);
  EXPECT_FALSE(read->boot_s);
  EXPECT_TRUE(read->journal.empty());
}

TEST(RunRecords, ClaimsAndLeadersKeepProcessBootAndJournal) {
  const auto claim =
      read_claim(write_claim({.supervisor = {17, 99}, .boot = "boot", .journal = "journal"}));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->supervisor, (gpu::ProcessIdentity{17, 99}));
  EXPECT_EQ(claim->journal, "journal");
  EXPECT_FALSE(claim->abandoned);
  EXPECT_EQ(read_leader(write_leader({18, 100}, "journal")), (gpu::ProcessIdentity{18, 100}));
  for (const char* wrong : {"", "5", "[]", "{\"pid\":\"x\"}", "{\"abandoned\":false"}) {
    EXPECT_FALSE(read_claim(wrong)) << wrong;
    EXPECT_FALSE(read_leader(wrong)) << wrong;
    EXPECT_FALSE(read_exit(wrong)) << wrong;
  }
}

TEST(StartTrouble, SurvivesWritingAndReading) {
  for (const StartTrouble& trouble : {StartTrouble{TroubleScope::Gpus, "no daemon answers"},
                                      StartTrouble{std::nullopt, "no such program"}}) {
    const StartTrouble read = read_trouble(write_trouble(trouble));
    EXPECT_EQ(read.scope, trouble.scope);
    EXPECT_EQ(read.message, trouble.message);
  }
  EXPECT_EQ(read_trouble("garbage").scope, TroubleScope::Machine);
}

TEST(StartTrouble, ErrorNumbersTellTheJobFromTheMachine) {
  for (const int job : {ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, ENOEXEC, E2BIG}) {
    EXPECT_FALSE(trouble_with_job_files(job, "start x").scope) << job;
  }
  for (const int machine : {EMFILE,
                            ENFILE,
                            ENOMEM,
                            ENOSPC,
                            EDQUOT,
                            EIO,
                            EROFS,
                            ESTALE,
                            ETIMEDOUT,
                            EHOSTDOWN,
                            ENOTCONN,
                            ETXTBSY}) {
    EXPECT_EQ(trouble_with_job_files(machine, "start x").scope, TroubleScope::Job) << machine;
  }
  EXPECT_EQ(trouble_with_job_files(EAGAIN, "start x").scope, TroubleScope::User);
}

}  // namespace
}  // namespace carpool::run
