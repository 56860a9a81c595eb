// Jobs whose memory need is unknown: caps, reservations, and who waits.
#include <gtest/gtest.h>

#include "policy/policy_registry.hpp"
#include "policy/tests/law_speeds.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {
namespace {

PlacementDecision decided(SnapshotBuilder& cluster, const PolicySettings& settings) {
  const LawSpeeds speeds;
  return (*make_placement_policy("carpool", settings))->decide(cluster.snapshot(), speeds);
}

PlacementDecision decided(SnapshotBuilder& cluster) {
  return decided(cluster, default_settings("carpool"));
}

std::uint64_t gib_up(std::uint64_t bytes) {
  return (bytes + kTestGiB - 1) / kTestGiB;
}

TEST(UnknownMemory, TenJobsStartTogetherOnAnEmptyGpuOf140GiB) {
  SnapshotBuilder cluster;
  cluster.gpu(140);
  for (int i = 0; i < 10; ++i) {
    cluster.job("job" + std::to_string(i), std::nullopt);
  }
  const PlacementDecision decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 10);
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> caps;
  for (const Placement& placement : decision.place) {
    ASSERT_TRUE(placement.cap_bytes.has_value());
    EXPECT_EQ(placement.reserve_bytes, *placement.cap_bytes);
    EXPECT_EQ(placement.mechanism, ShareMechanism::Mps);
    sum += *placement.cap_bytes;
    caps.push_back(gib_up(*placement.cap_bytes));
  }
  EXPECT_EQ(caps, (std::vector<std::uint64_t>{14, 14, 14, 14, 14, 14, 14, 12, 12, 9}));
  EXPECT_LE(sum, 140 * kTestGiB);
  EXPECT_EQ(decision.place[0].reason, "on an empty GPU; memory need unknown, capped at 13.9 GiB");
  EXPECT_EQ(decision.place[3].reason,
            "shares GPU 0 with 3 others: predicted 64 % of its solo speed; memory need unknown, "
            "capped at 14 GiB");
}

// Start-ups share the processors of the machine.
TEST(UnknownMemory, OnlySoManyStartUpAtTheSameTime) {
  SnapshotBuilder cluster;
  GpuView& gpu = cluster.gpu(140);
  for (int i = 0; i < 6; ++i) {
    cluster.job("job" + std::to_string(i), std::nullopt);
  }
  PolicySettings settings = default_settings("carpool");
  settings.max_starting = 4;
  PlacementDecision decision = decided(cluster, settings);
  ASSERT_EQ(decision.place.size(), 4);
  ASSERT_EQ(decision.defer.size(), 2);
  EXPECT_EQ(decision.defer[0].constraint, Constraint::Machine);
  EXPECT_TRUE(decision.ask_again_s.has_value());
  // One that was seen on the GPU, or not for long, does not count.
  for (int i = 0; i < 3; ++i) {
    Resident& started = SnapshotBuilder::resident(gpu, "job" + std::to_string(i), 1);
    started.phase = i == 0 ? ResidentPhase::Computing : ResidentPhase::Starting;
    started.phase_since_s = i == 1 ? 900.0 : 995.0;
  }
  EXPECT_EQ(decided(cluster, settings).place.size(), 2);  // job0 still sets up
  gpu.residents[0].computed_s = 5.0;
  EXPECT_EQ(decided(cluster, settings).place.size(), 3);
}

// Some start-ups wait for a disk.
TEST(UnknownMemory, FurtherJobsStartOneByOneWhileProcessorsAreIdle) {
  SnapshotBuilder cluster;
  GpuView& gpu = cluster.gpu(140);
  for (int i = 0; i < 3; ++i) {
    cluster.job("job" + std::to_string(i), std::nullopt);
  }
  Resident& starting = SnapshotBuilder::resident(gpu, "first", 1);
  starting.phase = ResidentPhase::Starting;
  starting.phase_since_s = starting.started_s = 998.0;
  PolicySettings settings = default_settings("carpool");
  settings.max_starting = 1;
  const auto policy = make_placement_policy("carpool", settings);
  const LawSpeeds speeds;
  ClusterSnapshot snapshot = cluster.snapshot();
  EXPECT_TRUE((*policy)->decide(snapshot, speeds).place.empty());
  snapshot.processors_idle = 0.1;
  EXPECT_TRUE((*policy)->decide(snapshot, speeds).place.empty());
  snapshot.processors_idle = 0.5;
  const PlacementDecision decision = (*policy)->decide(snapshot, speeds);
  EXPECT_EQ(decision.place.size(), 1);
  EXPECT_LE(decision.ask_again_s.value(), 1.0);
}

// Jobs that are submitted one by one are decided about one by one.
TEST(UnknownMemory, JobsThatComeOneByOneLeaveRoomForTheNext) {
  SnapshotBuilder cluster;
  GpuView& gpu = cluster.gpu(140);
  cluster.job("job", std::nullopt);
  std::vector<std::uint64_t> caps;
  for (int i = 0; i < 12; ++i) {
    const PlacementDecision decision = decided(cluster);
    if (decision.place.empty()) {
      EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Memory);
      break;
    }
    caps.push_back(gib_up(*decision.place[0].cap_bytes));
    Resident& started = SnapshotBuilder::resident(gpu, "job", 0);
    started.reserved_bytes = decision.place[0].reserve_bytes;
    started.phase = ResidentPhase::Starting;
  }
  EXPECT_EQ(caps, (std::vector<std::uint64_t>{35, 27, 20, 15, 12, 12, 11, 7}));
}

// A tenth of the GPU stays for others, which may grow.
TEST(UnknownMemory, AJobThatWaitsAsTheOnlyOneGetsWhatIsFree) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(40), "other", 10);
  cluster.job("job", std::nullopt).waited_s = 30.0;
  PlacementDecision decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(gib_up(*decision.place[0].cap_bytes), 26);
  // Others wait too.
  cluster.job("other", std::nullopt).waited_s = 30.0;
  decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 2);
  EXPECT_EQ(gib_up(*decision.place[0].cap_bytes), 12);
  EXPECT_EQ(gib_up(*decision.place[1].cap_bytes), 9);
}

TEST(UnknownMemory, WaitsWhereLessThanATwentiethIsFree) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(140), "other", 133);
  cluster.job("job", std::nullopt);
  PlacementDecision decision = decided(cluster);
  ASSERT_TRUE(decision.place.empty());
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Memory);
  cluster.gpus()[0].residents[0].reserved_bytes = 136 * kTestGiB;
  decision = decided(cluster);
  EXPECT_EQ(decision.defer.at(0).reason,
            "GPU 0 has 4 GiB free; a job whose memory need is unknown starts with at least 7 GiB");
  // A job of known need fits.
  cluster.job("small", 2);
  EXPECT_EQ(decided(cluster).place.size(), 1);
}

TEST(UnknownMemory, AKnownNeedIsTheCap) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(40), "other", 10);
  cluster.job("job", 5);
  const PlacementDecision decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(decision.place[0].cap_bytes, 5 * kTestGiB);
  EXPECT_EQ(decision.place[0].reserve_bytes, 5 * kTestGiB);
}

TEST(UnknownMemory, JobsThatDoNotShareHaveNoCap) {
  SnapshotBuilder cluster;
  cluster.gpu(40);
  cluster.gpu(40);
  cluster.gpu(40);
  cluster.job("several", std::nullopt, 2);
  cluster.job("alone", std::nullopt).exclusive = true;
  const PlacementDecision decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 2);
  for (const Placement& placement : decision.place) {
    EXPECT_EQ(placement.mechanism, ShareMechanism::None);
    EXPECT_FALSE(placement.cap_bytes.has_value());
    EXPECT_EQ(placement.reserve_bytes, 40 * kTestGiB);
  }
}

TEST(UnknownMemory, WithoutMpsItJoinsOnlyWhereHalfOfTheGpuIsFree) {
  SnapshotBuilder cluster;
  cluster.gpu(40).mps_possible = false;
  cluster.job("job", std::nullopt);
  PlacementDecision decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(decision.place[0].mechanism, ShareMechanism::TimeSlicing);
  EXPECT_EQ(decision.place[0].reserve_bytes, 40 * kTestGiB);
  EXPECT_FALSE(decision.place[0].cap_bytes.has_value());

  Resident& resident = SnapshotBuilder::resident(cluster.gpus()[0], "other", 15);
  resident.mechanism = ShareMechanism::TimeSlicing;
  decision = decided(cluster);
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_FALSE(decision.place[0].cap_bytes.has_value());
  EXPECT_EQ(gib_up(decision.place[0].reserve_bytes), 25);

  resident.reserved_bytes = 25 * kTestGiB;
  decision = decided(cluster);
  ASSERT_TRUE(decision.place.empty());
  EXPECT_EQ(decision.defer.at(0).reason, "memory need unknown; waiting for an empty GPU");
}

TEST(UnknownMemory, ASecondUserWaitsWhereMpsServesTheFirst) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(140), "other", 5);
  cluster.job("job", std::nullopt).uid = 2;
  const PlacementDecision decision = decided(cluster);
  ASSERT_TRUE(decision.place.empty());
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::OtherUser);
}

TEST(UnknownMemory, RulePoliciesUseCapsWhereTheyAreSet) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(40), "other", 10);
  cluster.job("job", std::nullopt);
  const LawSpeeds speeds;
  for (const std::string name : {"magm", "kace"}) {
    PolicySettings settings = default_settings(name);
    EXPECT_TRUE(
        (*make_placement_policy(name, settings))->decide(cluster.snapshot(), speeds).place.empty());
    settings.use_caps = true;
    const PlacementDecision decision =
        (*make_placement_policy(name, settings))->decide(cluster.snapshot(), speeds);
    ASSERT_EQ(decision.place.size(), 1) << name;
    EXPECT_EQ(gib_up(*decision.place[0].cap_bytes), 12) << name;
  }
}

TEST(UnknownMemory, WithoutMpsItIsCappedWhereTheLibraryEnforcesCaps) {
  SnapshotBuilder cluster;
  GpuView& gpu = cluster.gpu(40);
  gpu.mps_possible = false;
  SnapshotBuilder::resident(gpu, "other", 25).mechanism = ShareMechanism::TimeSlicing;
  cluster.job("job", std::nullopt);
  PolicySettings settings = default_settings("carpool");
  settings.caps_without_mps = true;
  const PlacementDecision decision =
      (*make_placement_policy("carpool", settings))->decide(cluster.snapshot(), LawSpeeds());
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(decision.place[0].mechanism, ShareMechanism::TimeSlicing);
  ASSERT_TRUE(decision.place[0].cap_bytes.has_value());
  EXPECT_LE(*decision.place[0].cap_bytes, 15 * kTestGiB);
}

}  // namespace
}  // namespace carpool::policy
