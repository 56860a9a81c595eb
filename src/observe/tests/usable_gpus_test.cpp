#include "observe/usable_gpus.hpp"

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::observe {
namespace {

Result<UsableGpus> find(std::vector<GpuInfo> gpus, bool mps = true) {
  return find_usable_gpus(std::make_unique<gpu::FakeTelemetry>(std::move(gpus)), mps);
}

TEST(UsableGpus, WholeGpusComeBeforeMigInstances) {
  std::vector<GpuInfo> gpus = gpu::two_fake_gpus();
  gpus[0].mig_enabled = true;
  gpus[0].mig = {{.uuid = "MIG-a", .memory_bytes = 10}, {.uuid = "MIG-b", .memory_bytes = 20}};
  const auto found = find(gpus);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->views.size(), 3U);
  EXPECT_EQ(found->views[0].uuid, gpus[1].uuid);
  EXPECT_TRUE(found->views[0].mps_possible);
  EXPECT_EQ(found->views[1].uuid, "MIG-a");
  EXPECT_FALSE(found->views[1].mps_possible);
  EXPECT_EQ(found->views[2].memory_bytes, 20U);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(found->views[i].index, i);
  }
  ASSERT_EQ(found->watched.size(), 1U);
  EXPECT_EQ(found->watched[0].uuid, gpus[1].uuid);
}

TEST(UsableGpus, MpsIsNotPossibleWhereItIsOffOrComputeIsProhibited) {
  std::vector<GpuInfo> gpus = gpu::two_fake_gpus();
  gpus[1].compute_mode = "prohibited";
  gpus[0].compute_mode = "exclusive-process";
  const auto with = find(gpus);
  ASSERT_TRUE(with);
  EXPECT_TRUE(with->views[0].mps_possible);
  EXPECT_FALSE(with->views[0].slo_outside_mps);
  EXPECT_FALSE(with->views[1].mps_possible);
  EXPECT_TRUE(with->views[1].slo_outside_mps);
  const auto without = find(gpus, false);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->views[0].mps_possible);
}

TEST(UsableGpus, NoGpuIsAnError) {
  const auto found = find({});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace carpool::observe
