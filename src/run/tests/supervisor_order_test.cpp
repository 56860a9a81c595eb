#include "run/supervisor/supervisor_order.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

std::string order_with(const std::string& more) {
  return R"({"folder": "/r/1.1", "run": "1.1", "argv": ["a"], "cwd": "/", "env": {}, "user": "u", "home": "/", "journal": "j", )" +
         more + "}";
}

TEST(SupervisorOrder, IsReadAsItWasWritten) {
  const SupervisorOrder order{.folder = "/r/17.1",
                              .run = "17.1",
                              .argv = {"python", "a b.py"},
                              .cwd = "/data/ann",
                              .env = {{"A", "B"}},
                              .become_uid = 4294967294U,
                              .gid = 100,
                              .user = "ann",
                              .mps = MpsPlace{.gpu_uuid = "GPU-1", .folder = "/m", .users = "/m/u"},
                              .output_limit_bytes = 1U << 30U};
  const auto again = read_order(write_order(order));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_order(*again), write_order(order));
}

TEST(SupervisorOrder, AUserNumberThatDoesNotFitIsAnErrorAndNotRoot) {
  for (const char* number : {"4294967296", "-1", "1e300", "0.5", "\"0\"", "null"}) {
    EXPECT_FALSE(read_order(order_with(std::string(R"("gid": 0, "become_uid": )") + number)))
        << number;
    EXPECT_FALSE(read_order(order_with(std::string(R"("gid": )") + number))) << number;
  }
  EXPECT_TRUE(read_order(order_with(R"("gid": 0, "become_uid": 0)")));
}

constexpr const char* kMemoryLimit = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";

LaunchSpec capped_job() {
  LaunchSpec spec{.run = {1, 1}, .owner = {.uid = ::geteuid(), .user = "me"}};
  spec.job.argv = {"train"};
  spec.job.env = {{kMemoryLimit, "0=900G"}, {"CUDA_MPS_PIPE_DIRECTORY", "/elsewhere"}};
  spec.gpu_uuids = {"GPU-3"};
  spec.gpu_indices = {3};
  spec.mechanism = ShareMechanism::Mps;
  spec.memory_limit_bytes = (std::uint64_t{5} << 30U) + 1;
  return spec;
}

// The daemon sees one GPU, which is its device 0, whatever its number on the machine.
TEST(SupervisorOrder, ACapReplacesTheLimitOfTheUser) {
  const MpsPlace place{.gpu_uuid = "GPU-3", .folder = "/m/3-0", .users = "/m/u"};
  const auto order = make_order(capped_job(), "/r/1.1", place);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->env.at(kMemoryLimit), "0=5120M") << "never more than the cap";
  EXPECT_EQ(order->env.at("CUDA_VISIBLE_DEVICES"), "GPU-3");
  EXPECT_EQ(order->env.at("CUDA_MPS_PIPE_DIRECTORY"), "/m/3-0/pipe");
}

TEST(SupervisorOrder, WithoutMpsNoLimitIsSet) {
  LaunchSpec spec = capped_job();
  spec.mechanism = ShareMechanism::TimeSlicing;
  const auto order = make_order(spec, "/r/1.1", std::nullopt);
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->env.contains(kMemoryLimit));
  EXPECT_FALSE(order->env.contains("CUDA_MPS_PIPE_DIRECTORY"));
}

TEST(SupervisorOrder, AJobWithAnSloOutsideOfMpsFindsNoDaemonOfTheMachine) {
  LaunchSpec spec = capped_job();
  spec.mechanism = ShareMechanism::TimeSlicing;
  spec.job.job_class = JobClass::Slo;
  const auto order = make_order(spec, "/r/1.1", std::nullopt);
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->env.contains(kMemoryLimit));
  EXPECT_EQ(order->env.at("CUDA_MPS_PIPE_DIRECTORY"), "/r/1.1/no-mps");
}

}  // namespace
}  // namespace carpool::run
