#include <cmath>

#include <gtest/gtest.h>

#include "knowledge/activity_interference.hpp"
#include "policy/policy_registry.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {
namespace {

const knowledge::ActivityInterference& speeds() {
  static const knowledge::ActivityInterference speeds{
      {{"light", 0.1}, {"middle", 0.5}, {"heavy", 1.0}}};
  return speeds;
}

PlacementDecision decide(const std::string& policy,
                         SnapshotBuilder& cluster,
                         const PolicySettings& settings) {
  const auto made = make_placement_policy(policy, settings);
  EXPECT_TRUE(made.has_value());
  return (*made)->decide(cluster.snapshot(), speeds());
}

PlacementDecision decide(const std::string& policy, SnapshotBuilder& cluster) {
  return decide(policy, cluster, default_settings(policy));
}

// Two GPUs: 10 GiB in use and busy, 20 GiB in use and idle.
SnapshotBuilder two_gpus() {
  SnapshotBuilder cluster;
  GpuView& first = cluster.gpu();
  SnapshotBuilder::resident(first, "light", 10);
  first.pressure = GpuPressure{.sm_active = 0.7, .sm_occupancy = 0.2, .dram_active = 0.1};
  GpuView& second = cluster.gpu();
  SnapshotBuilder::resident(second, "light", 20);
  second.pressure = GpuPressure{.sm_active = 0.2, .sm_occupancy = 0.1, .dram_active = 0.1};
  cluster.job("light", 5);
  return cluster;
}

TEST(RulePolicies, ChooseByWhatTheyAreNamedAfter) {
  SnapshotBuilder cluster = two_gpus();
  EXPECT_EQ(decide("magm", cluster).place.at(0).gpus.at(0), 0);
  EXPECT_EQ(decide("lug", cluster).place.at(0).gpus.at(0), 1);
  EXPECT_EQ(decide("mug", cluster).place.at(0).gpus.at(0), 0);
  EXPECT_EQ(decide("best-fit", cluster).place.at(0).gpus.at(0), 1);
  EXPECT_EQ(decide("first-fit", cluster).place.at(0).gpus.at(0), 0);
  EXPECT_TRUE(decide("exclusive", cluster).place.empty());
}

// The job could share: it waits for the end of one that does not, and reserves nothing.
TEST(CarpoolPolicy, AGpuThatAnExclusiveJobHasIsNeitherFullNorUnusable) {
  SnapshotBuilder cluster;
  Resident& alone = SnapshotBuilder::resident(cluster.gpu(), "light", 1);
  alone.exclusive = true;
  alone.mechanism = ShareMechanism::None;
  cluster.job("light", 1);
  for (const char* policy : {"carpool", "magm"}) {
    const PlacementDecision decision = decide(policy, cluster);
    ASSERT_EQ(decision.defer.size(), 1U) << policy;
    EXPECT_EQ(decision.defer[0].constraint, Constraint::Exclusive) << policy;
    EXPECT_EQ(decision.defer[0].reason, "job 1000 has GPU 0 to itself") << policy;
  }
  Resident& wide = SnapshotBuilder::resident(cluster.gpu(), "light", 1);
  wide.several_gpus = true;
  wide.mechanism = ShareMechanism::None;
  EXPECT_EQ(decide("carpool", cluster).defer.at(0).reason,
            "job 1000 has GPU 0 to itself; 1 other GPU is taken in the same way");
  cluster.gpus()[0].unusable = "lost";
  EXPECT_EQ(decide("carpool", cluster).defer.at(0).reason, "job 1010 has GPU 1 to itself");
}

TEST(Policies, SayWhetherJobsOnSeveralGpusMayHaveNeighbours) {
  std::size_t sharing = 0;
  for (const PolicyInfo& info : placement_policies()) {
    const PolicySettings settings = default_settings(info.name);
    const auto policy = make_placement_policy(info.name, settings);
    ASSERT_TRUE(policy) << info.name;
    EXPECT_EQ((*policy)->shares_several(), settings.share_several) << info.name;
    sharing += settings.share_several ? 1U : 0U;
  }
  EXPECT_GT(sharing, 0U);
}

TEST(RulePolicies, RoundRobinTakesGpusInTurn) {
  SnapshotBuilder cluster = two_gpus();
  cluster.gpus()[0].since_placed_s = 10.0;
  EXPECT_EQ(decide("round-robin", cluster).place.at(0).gpus.at(0), 1);
  cluster.gpus()[1].since_placed_s = 5.0;
  EXPECT_EQ(decide("round-robin", cluster).place.at(0).gpus.at(0), 0);
}

TEST(RulePolicies, KeepCarmasPreconditions) {
  SnapshotBuilder cluster = two_gpus();
  cluster.gpus()[0].pressure = GpuPressure{.sm_active = 0.85, .sm_occupancy = 0.5};
  EXPECT_EQ(decide("carma", cluster).place.at(0).gpus.at(0), 1);
  // Busy SMs are not sufficient: occupancy or memory traffic must be high too.
  cluster.gpus()[0].pressure = GpuPressure{.sm_active = 0.85, .sm_occupancy = 0.2};
  EXPECT_EQ(decide("carma", cluster).place.at(0).gpus.at(0), 0);
  // The last job was seen too recently.
  cluster.gpus()[0].since_seen_busy_s = 12.0;
  const PlacementDecision decision = decide("carma", cluster);
  EXPECT_EQ(decision.place.at(0).gpus.at(0), 1);
  ASSERT_TRUE(decision.ask_again_s.has_value());
  EXPECT_NEAR(*decision.ask_again_s, 18.0, 1e-9);
}

TEST(RulePolicies, AskForCarmasMarginsOfMemory) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "light", 30);
  cluster.job("light", 8);  // 10 GiB free: 8 + 2 + 0.5 do not fit
  EXPECT_TRUE(decide("carma", cluster).place.empty());
  EXPECT_EQ(decide("magm", cluster).place.size(), 1);
  cluster.jobs()[0].need_bytes.reset();  // unknown: the floor of 5.5 GiB
  EXPECT_EQ(decide("carma", cluster).place.size(), 1);
  EXPECT_EQ(decide("carma", cluster).place.at(0).reserve_bytes, 0);
  EXPECT_TRUE(decide("magm", cluster).place.empty());
}

TEST(RulePolicies, LetNoJobPassInAStrictQueue) {
  SnapshotBuilder cluster = two_gpus();
  cluster.jobs()[0].need_bytes = 39 * kTestGiB;
  cluster.job("light", 1);
  const PlacementDecision strict = decide("carma", cluster);
  EXPECT_TRUE(strict.place.empty());
  EXPECT_EQ(strict.defer.size(), 1);
  EXPECT_EQ(decide("magm", cluster).place.size(), 1);
}

TEST(Reservation, ReservesGpusForAJobOnSeveralThatWouldStarveOtherwise) {
  SnapshotBuilder cluster;
  for (const double remaining : {100.0, 200.0, 4000.0}) {
    Resident& resident = SnapshotBuilder::resident(cluster.gpu(), "light", 1);
    resident.remaining_s = remaining;
  }
  cluster.job("heavy", 10, 2);
  cluster.job("light", 1).runtime_s = 5000.0;
  cluster.job("light", 1).runtime_s = 50.0;
  for (const std::string policy : {"carpool", "magm", "kace"}) {
    const PlacementDecision decision = decide(policy, cluster);
    ASSERT_EQ(decision.place.size(), 2) << policy;
    // The long job goes where no GPU is reserved; the short one ends in time.
    EXPECT_EQ(decision.place[0].gpus.at(0), 2) << policy;
    EXPECT_EQ(decision.defer.at(0).constraint, Constraint::GpuCount) << policy;
  }
}

TEST(Carpool, PutsALightJobBesideAHeavyOneAndNotTwoHeavyOnes) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "heavy", 5);
  cluster.job("heavy", 5);
  cluster.job("light", 5);
  PolicySettings settings = default_settings("carpool");
  settings.take_turns = false;
  const PlacementDecision decision = decide("carpool", cluster, settings);
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(decision.place[0].job, 2);
  ASSERT_TRUE(decision.place[0].progress.has_value());
  EXPECT_NEAR(*decision.place[0].progress, 1.0 / 1.1, 1e-9);
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Interference);
}

TEST(Carpool, ConsidersTheJobFirstThatWouldBeTheLastToEnd) {
  SnapshotBuilder cluster;
  cluster.gpu();
  cluster.job("heavy", 30).runtime_s = 100.0;
  cluster.job("heavy", 30).runtime_s = 9000.0;
  EXPECT_EQ(decide("carpool", cluster).place.at(0).job, 2);
  cluster.jobs()[1].runtime_s = 100.0;
  EXPECT_EQ(decide("carpool", cluster).place.at(0).job, 1);
}

TEST(Carpool, KeepsNeighboursFromSlowingAJobWithALatencyTarget) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "middle", 5).job_class = JobClass::Slo;
  cluster.job("heavy", 5);
  EXPECT_TRUE(decide("carpool", cluster).place.empty());
  cluster.gpus()[0].residents[0].job_class = JobClass::Normal;
  EXPECT_EQ(decide("carpool", cluster).place.size(), 1);
}

// A limit below 100 slows the limited job and speeds up its neighbour.
class LimitedSpeeds final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    std::vector<double> shares(group.size(), 0.5);
    if (group.size() == 2) {
      const double limit = group[1].thread_limit / kAllThreads;
      shares = {0.9 - 0.4 * limit, 0.6 - std::abs(limit - 0.4)};
    }
    return shares;
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string&) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string&) const override { return true; }
  [[nodiscard]] bool knows_limits() const override { return true; }
};

TEST(Carpool, ChoosesTheThreadLimitThatServesAllBest) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "light", 5);
  cluster.job("light", 5);
  PolicySettings settings = default_settings("carpool");
  settings.floor = 0.0;
  settings.least_gain = -1.0;
  const auto policy = make_placement_policy("carpool", settings);
  ASSERT_TRUE(policy.has_value());
  const PlacementDecision decision = (*policy)->decide(cluster.snapshot(), LimitedSpeeds());
  ASSERT_EQ(decision.place.size(), 1);
  EXPECT_EQ(decision.place[0].thread_limit, 40.0);
}

TEST(PolicyTable, NamesTheKnownOnesForAWrongOne) {
  const auto wrong = make_placement_policy("magn", {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::NotFound);
  EXPECT_NE(wrong.error().message.find("magm"), std::string::npos);
}

TEST(FreeMemory, CountsReservationsUseAndForeignMemoryAndIsNeverBelowZero) {
  SnapshotBuilder cluster;
  GpuView& gpu = cluster.gpu(40);
  Resident& resident = SnapshotBuilder::resident(gpu, "light", 10);
  resident.used_bytes = 2 * kTestGiB;
  gpu.used_bytes = 2 * kTestGiB;
  EXPECT_EQ(gpu.free_bytes(), 30 * kTestGiB);
  gpu.foreign_bytes = 35 * kTestGiB;
  EXPECT_EQ(gpu.free_bytes(), 0);
}

}  // namespace
}  // namespace carpool::policy
