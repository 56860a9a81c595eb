#include "observe/process_owners.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/process/child_process.hpp"

namespace carpool::observe {
namespace {

TEST(ProcessOwners, ADescendantOfASupervisorBelongsToItsJob) {
  auto child =
      ChildProcess::start({.argv = {"sleep", "600"}, .environment = {}, .working_folder = {}}, {});
  ASSERT_TRUE(child) << child.error().message;
  // This process stands for the supervisor.
  const JobProcesses job{.job = 7, .supervisor = ::getpid()};
  const ProcessOwners owners = find_process_owners(std::span(&job, 1), {{0, {7}}});
  const ProcessOwner owner = owners.owner(child->pid());
  EXPECT_EQ(owner.kind, ProcessOwner::Kind::Job);
  EXPECT_EQ(owner.job, 7);
  EXPECT_EQ(owners.owner(::getpid()).kind, ProcessOwner::Kind::Foreign);
  EXPECT_EQ(owners.residents.at(0), std::vector<JobId>{7});
}

TEST(ProcessOwners, WithoutJobsAVisibleProcessIsForeignAndAnotherUnknown) {
  const ProcessOwners owners = find_process_owners({}, {});
  EXPECT_EQ(owners.owner(::getpid()).kind, ProcessOwner::Kind::Foreign);
  constexpr std::int64_t kNoSuchProcess = std::int64_t{1} << 40;
  EXPECT_EQ(owners.owner(kNoSuchProcess).kind, ProcessOwner::Kind::Unknown);
}

TEST(ProcessOwners, AnMpsServerIsKnownByItsCommandLine) {
  auto server = ChildProcess::start({.argv = {"sh", "-c", "sleep 600; :", "nvidia-cuda-mps-server"},
                                     .environment = {},
                                     .working_folder = {}},
                                    {});
  ASSERT_TRUE(server) << server.error().message;
  const ProcessOwners owners = find_process_owners({}, {});
  EXPECT_EQ(owners.owner(server->pid()).kind, ProcessOwner::Kind::MpsServer);
}

}  // namespace
}  // namespace carpool::observe
