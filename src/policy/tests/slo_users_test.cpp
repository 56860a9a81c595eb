// A job with an SLO shares a GPU with jobs of its own user only, and outside of MPS, by every
// policy.
#include <random>

#include <gtest/gtest.h>

#include "knowledge/activity_interference.hpp"
#include "policy/policy_registry.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {
namespace {

class SloUsers : public testing::TestWithParam<std::string> {
 protected:
  PlacementDecision decide(SnapshotBuilder& cluster, bool use_mps) {
    PolicySettings settings = default_settings(GetParam());
    settings.use_mps = settings.use_mps && use_mps;
    const auto policy = make_placement_policy(GetParam(), settings);
    EXPECT_TRUE(policy.has_value());
    return (*policy)->decide(cluster.snapshot(), interference_);
  }

  knowledge::ActivityInterference interference_{{{"light", 0.05}}};
};

// Small jobs of two users, a third of them with an SLO. The members of a GPU agree already.
SnapshotBuilder two_users(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto user = [&] { return static_cast<std::uint32_t>(1 + engine() % 2); };
  const auto job_class = [&] { return engine() % 3 == 0 ? JobClass::Slo : JobClass::Normal; };
  SnapshotBuilder cluster;
  for (unsigned i = 0; i < 4; ++i) {
    GpuView& gpu = cluster.gpu();
    gpu.mps_possible = engine() % 2 == 0;
    gpu.pressure = GpuPressure{.sm_active = 0.05};
    const std::uint32_t owner = user();
    for (std::uint64_t residents = engine() % 3; residents > 0; --residents) {
      Resident& resident = SnapshotBuilder::resident(gpu, "light", 2);
      resident.uid = owner;
      resident.job_class = job_class();
      resident.mechanism = gpu.mps_possible ? ShareMechanism::Mps : ShareMechanism::TimeSlicing;
    }
  }
  for (unsigned i = 0; i < 10; ++i) {
    QueuedJob& job = cluster.job("light", 2);
    job.uid = user();
    job.job_class = job_class();
  }
  return cluster;
}

TEST_P(SloUsers, APromiseIsKeptAmongJobsOfOneUser) {
  std::size_t beside = 0;  // jobs that were placed beside one with an SLO
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = two_users(seed);
    const PlacementDecision decision = decide(cluster, seed % 2 == 0);
    for (const Placement& placement : decision.place) {
      const QueuedJob& job = cluster.jobs()[static_cast<std::size_t>(placement.job) - 1];
      auto& residents = cluster.gpus()[placement.gpus.at(0)].residents;
      for (const Resident& member : residents) {
        if (job.job_class == JobClass::Slo || member.job_class == JobClass::Slo) {
          EXPECT_EQ(job.uid, member.uid) << "seed " << seed;
          ++beside;
        }
      }
      residents.push_back({.job = job.job, .uid = job.uid, .job_class = job.job_class});
    }
  }
  EXPECT_EQ(beside > 0, GetParam() != "exclusive");
}

TEST_P(SloUsers, MpsIsForTheOthersWhereItCanBe) {
  for (const bool outside : {false, true}) {
    SnapshotBuilder cluster;
    GpuView& gpu = cluster.gpu();
    gpu.slo_outside_mps = outside;
    gpu.pressure = GpuPressure{.sm_active = 0.05};
    QueuedJob& job = cluster.job("light", 2);
    const ShareMechanism usual = decide(cluster, true).place.at(0).mechanism;
    job.job_class = JobClass::Slo;
    const ShareMechanism chosen = decide(cluster, true).place.at(0).mechanism;
    EXPECT_EQ(chosen,
              usual == ShareMechanism::Mps && outside ? ShareMechanism::TimeSlicing : usual);
  }
}

TEST_P(SloUsers, TheOwnerIsToldWhy) {
  for (const bool newcomer : {false, true}) {
    SnapshotBuilder cluster;
    GpuView& gpu = cluster.gpu();
    gpu.mps_possible = false;
    gpu.pressure = GpuPressure{.sm_active = 0.05};
    Resident& resident = SnapshotBuilder::resident(gpu, "light", 2);
    resident.mechanism = ShareMechanism::TimeSlicing;
    QueuedJob& job = cluster.job("light", 2);
    job.uid = 2;
    (newcomer ? job.job_class : resident.job_class) = JobClass::Slo;
    const PlacementDecision decision = decide(cluster, true);
    ASSERT_TRUE(decision.place.empty());
    if (GetParam() != "exclusive") {
      EXPECT_EQ(decision.defer.at(0).constraint, Constraint::OtherUser);
      EXPECT_NE(decision.defer.at(0).reason.find("a job with an SLO shares only with jobs of its"),
                std::string::npos)
          << decision.defer.at(0).reason;
    }
  }
}

std::vector<std::string> all_policies() {
  std::vector<std::string> out;
  for (const PolicyInfo& info : placement_policies()) {
    out.emplace_back(info.name);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(AllPolicies,
                         SloUsers,
                         testing::ValuesIn(all_policies()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace carpool::policy
