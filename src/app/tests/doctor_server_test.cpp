#include "app/doctor/doctor_server.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "app/doctor/doctor_checks.hpp"
#include "app/tests/healthy_machine.hpp"

namespace carpool::app {
namespace {

void expect_finding(const ServerFacts& servers,
                    const std::string& name,
                    CheckState state,
                    const std::string& found,
                    const std::string& advice) {
  DoctorFacts facts = healthy();
  facts.servers = servers;
  const DoctorCheck check = check_of(facts, name);
  EXPECT_EQ(check.state, state) << name;
  EXPECT_EQ(check.found, found) << name;
  EXPECT_EQ(check.advice, advice) << name;
  EXPECT_FALSE(check.needed);
}

TEST(DoctorServers, NameWhoManagesTheGpus) {
  expect_finding({}, "server", CheckState::Ok, "none manages the GPUs", "");
  ServerFacts facts;
  facts.managed = {{.uuid = "GPU-1", .holder = "the server of this machine", .usable = true}};
  expect_finding(facts, "server", CheckState::Ok, "GPU-1: the server of this machine", "");
  facts.managed.push_back({.uuid = "GPU-2", .holder = "the server of user bob"});
  expect_finding(
      facts,
      "server",
      CheckState::Degraded,
      "GPU-1: the server of this machine; GPU-2: the server of user bob",
      "a personal server of another user keeps yours from starting: ask its owner to stop "
      "it, or an administrator to serve all users with `carpool serve --system`");
}

TEST(DoctorServers, TellMissingMembership) {
  ServerFacts facts;
  facts.socket = "/run/carpool/carpool.sock";
  const std::string name = "access to the server";
  expect_finding(
      facts, name, CheckState::Ok, "/run/carpool/carpool.sock: no server listens there", "");
  facts.socket_exists = true;
  expect_finding(facts, name, CheckState::Ok, "/run/carpool/carpool.sock", "");
  facts.no_access = "ask for it";
  expect_finding(
      facts, name, CheckState::Degraded, "/run/carpool/carpool.sock: not permitted", "ask for it");
}

TEST(DoctorServers, FindFilesThatOtherUsersCanRead) {
  const std::filesystem::path state =
      std::filesystem::path(testing::TempDir()) / fmt::format("doctor-state-{}", ::getpid());
  std::filesystem::create_directories(state / "runs");
  const std::filesystem::path journal = state / "jobs.sqlite";
  std::ofstream(journal) << "x";
  ASSERT_EQ(::chmod(state.c_str(), 0700), 0);
  ASSERT_EQ(::chmod((state / "runs").c_str(), 0711), 0);
  ASSERT_EQ(::chmod(journal.c_str(), 0600), 0);
  EXPECT_TRUE(loose_paths(state).empty());
  ASSERT_EQ(::chmod(state.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(journal.c_str(), 0644), 0);
  ServerFacts facts;
  facts.states = {state};
  facts.loose = loose_paths(state);
  expect_finding(
      facts,
      "permissions",
      CheckState::Degraded,
      fmt::format("{0} has mode 0755; {0}/jobs.sqlite has mode 0644", state.string()),
      fmt::format(
          "other users may read the commands and environments of jobs: chmod 700 {0}; chmod "
          "600 {0}/jobs.sqlite",
          state.string()));
  std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace carpool::app
