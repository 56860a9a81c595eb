#include "serve/queue_memory.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::serve {
namespace {

JobSpec job_with(std::size_t environment) {
  JobSpec spec{.argv = {"train"}, .mem_bytes = 1};
  spec.env = {{"A", std::string(environment, 'x')}};
  return spec;
}

TEST(QueueMemory, AUserHasALimitAndAnotherUserHasAnother) {
  const schedule::StubServer server(1);
  QueueMemory memory(std::size_t{1} << 20U);
  const std::vector<JobSpec> half{job_with(500'000)};
  EXPECT_TRUE(memory.add(*server.scheduler, 1, half));
  EXPECT_TRUE(memory.add(*server.scheduler, 2, half));
  // Those were never submitted, so counting again finds place; one that is too large never has any.
  EXPECT_TRUE(memory.add(*server.scheduler, 1, half));
  const auto large = memory.add(*server.scheduler, 1, std::vector<JobSpec>{job_with(2'000'000)});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::LimitReached);
}

TEST(QueueMemory, JobsCountUntilTheyEnd) {
  schedule::StubServer server(1);
  QueueMemory memory(150'000);
  server.scheduler->set_draining(true);
  const std::vector<JobSpec> jobs{job_with(100'000)};
  ASSERT_TRUE(memory.add(*server.scheduler, 1, jobs));
  const auto id = server.scheduler->submit(jobs.front(), {.uid = 1, .user = "ann"}, 0.0);
  ASSERT_TRUE(id);
  EXPECT_FALSE(memory.add(*server.scheduler, 1, jobs));
  EXPECT_FALSE(QueueMemory(150'000).add(*server.scheduler, 1, jobs));  // a restart
  ASSERT_TRUE(server.scheduler->cancel(*id, "ann", 1.0));
  EXPECT_TRUE(memory.add(*server.scheduler, 1, jobs));
}

TEST(QueueMemory, AnEnvironmentCountsOnceForTheJobsThatShareIt) {
  const schedule::StubServer server(1);
  QueueMemory memory(std::size_t{1} << 20U);
  const std::vector<JobSpec> array(100, job_with(500'000));
  EXPECT_TRUE(memory.add(*server.scheduler, 1, array));
}

}  // namespace
}  // namespace carpool::serve
