// The contract of every placement policy.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "knowledge/activity_interference.hpp"
#include "policy/policy_registry.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {
namespace {

class PolicyContract : public testing::TestWithParam<std::string> {
 protected:
  PlacementDecision decide(SnapshotBuilder& cluster) {
    const auto policy = make_placement_policy(GetParam(), default_settings(GetParam()));
    EXPECT_TRUE(policy.has_value());
    return (*policy)->decide(cluster.snapshot(), interference_);
  }

  knowledge::ActivityInterference interference_{{{"light", 0.1}, {"middle", 0.5}, {"heavy", 0.95}}};
};

SnapshotBuilder random_cluster(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto pick = [&](std::uint64_t most) { return engine() % (most + 1); };
  const std::array<std::string, 4> names = {"light", "middle", "heavy", "never seen"};
  SnapshotBuilder cluster;
  for (std::uint64_t i = 0; i < 1 + pick(7); ++i) {
    GpuView& gpu = cluster.gpu(20 + 10 * pick(6));
    gpu.unusable = pick(5) == 0 ? "its memory has errors" : "";
    gpu.mps_possible = pick(3) != 0;
    gpu.foreign = pick(5) == 0;
    gpu.foreign_bytes = gpu.foreign ? pick(8) * kTestGiB : 0;
    gpu.used_bytes = gpu.foreign_bytes;
    gpu.pressure = GpuPressure{.sm_active = static_cast<double>(pick(10)) / 10.0};
    for (std::uint64_t j = 0; j < pick(3); ++j) {
      Resident& resident = SnapshotBuilder::resident(gpu, names[pick(3)], pick(9));
      resident.uid = static_cast<std::uint32_t>(1 + pick(1));
      resident.exclusive = pick(6) == 0;
      resident.mechanism = resident.exclusive ? ShareMechanism::None : ShareMechanism::Mps;
      resident.remaining_s = static_cast<double>(10 * pick(500));
      resident.phase = static_cast<ResidentPhase>(pick(2));
      resident.paused_for = static_cast<PauseCause>(pick(2));
      resident.phase_since_s = static_cast<double>(pick(1000));
      resident.job_class = pick(4) == 0 ? JobClass::Slo : JobClass::Normal;
      resident.several_gpus = pick(9) == 0;
    }
  }
  for (std::uint64_t i = 0; i < pick(30); ++i) {
    QueuedJob& job = cluster.job(names[pick(3)],
                                 pick(4) == 0 ? std::nullopt : std::optional(pick(45)),
                                 1 + static_cast<unsigned>(pick(7) == 0));
    job.uid = static_cast<std::uint32_t>(1 + pick(1));
    job.exclusive = pick(8) == 0;
    if (pick(1) == 0) {
      job.runtime_s = static_cast<double>(1 + pick(10000));
    }
  }
  return cluster;
}

TEST_P(PolicyContract, NumbersOfWorkloadsChangeNoDecision) {
  const std::map<std::string, std::uint32_t> numbers = {
      {"light", 7}, {"middle", 1}, {"heavy", 3}, {"never seen", 2}};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SnapshotBuilder named = random_cluster(seed);
    SnapshotBuilder numbered = named;
    for (GpuView& gpu : numbered.gpus()) {
      for (Resident& resident : gpu.residents) {
        resident.workload_number = numbers.at(resident.workload);
      }
    }
    const PlacementDecision one = decide(named);
    const PlacementDecision other = decide(numbered);
    ASSERT_EQ(one.place.size(), other.place.size()) << seed;
    for (std::size_t i = 0; i < one.place.size(); ++i) {
      EXPECT_EQ(one.place[i].job, other.place[i].job) << seed;
      EXPECT_EQ(one.place[i].gpus, other.place[i].gpus) << seed;
      EXPECT_EQ(one.place[i].progress, other.place[i].progress) << seed;
    }
    EXPECT_EQ(one.pause.size(), other.pause.size()) << seed;
    EXPECT_EQ(one.resume.size(), other.resume.size()) << seed;
    EXPECT_EQ(one.ask_again_s, other.ask_again_s) << seed;
  }
}

TEST_P(PolicyContract, PlacesOrDefersEachJobOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    const PlacementDecision decision = decide(cluster);
    std::multiset<JobId> seen;
    for (const Placement& placement : decision.place) {
      seen.insert(placement.job);
    }
    for (const Deferral& deferral : decision.defer) {
      seen.insert(deferral.job);
      EXPECT_FALSE(deferral.reason.empty());
    }
    EXPECT_TRUE(cluster.jobs().empty() || !seen.empty()) << "seed " << seed;
    EXPECT_EQ(seen.size(), std::set<JobId>(seen.begin(), seen.end()).size()) << "seed " << seed;
    for (const JobId job : seen) {
      EXPECT_TRUE(job >= 1 && job <= static_cast<JobId>(cluster.jobs().size()));
    }
    if (default_settings(GetParam()).backfill) {
      EXPECT_EQ(seen.size(), cluster.jobs().size()) << "seed " << seed;
    }
  }
}

TEST_P(PolicyContract, NeverPromisesMoreMemoryThanThereIs) {
  std::size_t used = 0;  // GPUs, in all
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    std::map<unsigned, std::uint64_t> asked;
    for (const Placement& placement : decide(cluster).place) {
      const QueuedJob& job = cluster.jobs()[static_cast<std::size_t>(placement.job) - 1];
      ASSERT_EQ(placement.gpus.size(), job.gpus);
      for (const unsigned gpu : placement.gpus) {
        asked[gpu] += job.need_bytes.value_or(0);
      }
    }
    for (const auto& [gpu, bytes] : asked) {
      EXPECT_LE(bytes, cluster.gpus()[gpu].free_bytes()) << "seed " << seed << " GPU " << gpu;
    }
    used += asked.size();
  }
  EXPECT_GT(used, 50U);
}

TEST_P(PolicyContract, ReservesAndCapsNoMoreThanIsFree) {
  std::size_t capped = 0;  // jobs, in all
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    std::map<unsigned, std::uint64_t> reserved;
    for (const Placement& placement : decide(cluster).place) {
      if (placement.cap_bytes) {
        ++capped;
        EXPECT_EQ(placement.mechanism, ShareMechanism::Mps) << "seed " << seed;
        EXPECT_EQ(*placement.cap_bytes, placement.reserve_bytes) << "seed " << seed;
        EXPECT_GT(*placement.cap_bytes, 0) << "seed " << seed;
        reserved[placement.gpus.at(0)] += placement.reserve_bytes;
      }
    }
    for (const auto& [gpu, bytes] : reserved) {
      EXPECT_LE(bytes, cluster.gpus()[gpu].free_bytes()) << "seed " << seed << " GPU " << gpu;
    }
  }
  EXPECT_EQ(capped > 0, default_settings(GetParam()).use_caps);
}

TEST_P(PolicyContract, PausesAndResumesOnlyWhoMayBe) {
  std::size_t changed = 0;  // residents, in all
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    const PlacementDecision decision = decide(cluster);
    std::map<JobId, const Resident*> residents;
    for (const GpuView& gpu : cluster.gpus()) {
      for (const Resident& resident : gpu.residents) {
        residents[resident.job] = &resident;
      }
    }
    for (const Pause& pause : decision.pause) {
      const Resident& resident = *residents.at(pause.job);
      EXPECT_EQ(resident.phase, ResidentPhase::Computing) << "seed " << seed;
      EXPECT_NE(resident.job_class, JobClass::Slo) << "seed " << seed;
      EXPECT_FALSE(resident.several_gpus) << "seed " << seed;
      EXPECT_NE(pause.cause, PauseCause::Memory) << "seed " << seed;
      EXPECT_FALSE(pause.reason.empty());
    }
    for (const Resume& resume : decision.resume) {
      const Resident& resident = *residents.at(resume.job);
      EXPECT_EQ(resident.phase, ResidentPhase::Paused) << "seed " << seed;
      EXPECT_NE(resident.paused_for, PauseCause::Memory) << "seed " << seed;
    }
    changed += decision.pause.size() + decision.resume.size();
  }
  EXPECT_EQ(changed > 0, default_settings(GetParam()).take_turns);
}

TEST_P(PolicyContract, AvoidsUnusableGpusAndExclusiveJobs) {
  std::size_t exclusive = 0;  // GPUs, in all
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    std::map<unsigned, unsigned> newcomers;
    std::set<unsigned> taken_alone;
    for (const Placement& placement : decide(cluster).place) {
      const QueuedJob& job = cluster.jobs()[static_cast<std::size_t>(placement.job) - 1];
      EXPECT_EQ(std::set<unsigned>(placement.gpus.begin(), placement.gpus.end()).size(), job.gpus);
      for (const unsigned gpu : placement.gpus) {
        const GpuView& view = cluster.gpus()[gpu];
        EXPECT_TRUE(view.unusable.empty()) << "seed " << seed;
        for (const Resident& resident : view.residents) {
          EXPECT_FALSE(resident.exclusive) << "seed " << seed;
        }
        if (job.exclusive) {
          EXPECT_TRUE(view.residents.empty() && !view.foreign) << "seed " << seed;
          EXPECT_EQ(placement.mechanism, ShareMechanism::None);
          taken_alone.insert(gpu);
        }
        ++newcomers[gpu];
      }
    }
    for (const unsigned gpu : taken_alone) {
      EXPECT_EQ(newcomers[gpu], 1) << "seed " << seed;
    }
    exclusive += taken_alone.size();
  }
  EXPECT_GT(exclusive, 5U);
}

TEST_P(PolicyContract, SharesMpsAmongJobsOfOneUserOnly) {
  std::size_t shared = 0;  // GPUs, in all
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    std::map<unsigned, std::set<std::uint32_t>> users;
    std::set<unsigned> mps;
    for (const Placement& placement : decide(cluster).place) {
      const QueuedJob& job = cluster.jobs()[static_cast<std::size_t>(placement.job) - 1];
      EXPECT_FALSE(job.gpus > 1 && placement.mechanism == ShareMechanism::Mps);
      for (const unsigned gpu : placement.gpus) {
        if (placement.mechanism != ShareMechanism::Mps) {
          continue;
        }
        mps.insert(gpu);
        users[gpu].insert(job.uid);
        for (const Resident& resident : cluster.gpus()[gpu].residents) {
          users[gpu].insert(resident.uid);
        }
      }
    }
    for (const unsigned gpu : mps) {
      EXPECT_EQ(users[gpu].size(), 1) << "seed " << seed << " GPU " << gpu;
    }
    shared += mps.size();
  }
  EXPECT_EQ(shared > 0, default_settings(GetParam()).use_mps);
}

TEST_P(PolicyContract, DecidesTheSameTwice) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SnapshotBuilder cluster = random_cluster(seed);
    const PlacementDecision one = decide(cluster);
    const PlacementDecision two = decide(cluster);
    ASSERT_EQ(one.place.size(), two.place.size());
    for (std::size_t i = 0; i < one.place.size(); ++i) {
      EXPECT_EQ(one.place[i].job, two.place[i].job);
      EXPECT_EQ(one.place[i].gpus, two.place[i].gpus);
      EXPECT_EQ(one.place[i].reserve_bytes, two.place[i].reserve_bytes);
    }
  }
}

TEST_P(PolicyContract, HasTheNameThatItIsMadeBy) {
  const auto policy = make_placement_policy(GetParam(), default_settings(GetParam()));
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ((*policy)->name(), GetParam());
}

TEST_P(PolicyContract, UsesAnEmptyGpu) {
  SnapshotBuilder cluster;
  cluster.gpu();
  cluster.job("middle", 10);
  EXPECT_EQ(decide(cluster).place.size(), 1);
}

TEST_P(PolicyContract, AcceptsAnEmptyQueueAndNoGpu) {
  SnapshotBuilder no_job;
  no_job.gpu();
  EXPECT_TRUE(decide(no_job).place.empty());
  SnapshotBuilder nothing;
  nothing.job("light", 1);
  const PlacementDecision decision = decide(nothing);
  ASSERT_EQ(decision.defer.size(), 1);
  EXPECT_EQ(decision.defer.front().job, 1);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : placement_policies()) {
    all.emplace_back(info.name);
  }
  return all;
}

TEST_P(PolicyContract, PlacesAJobOnGpusThatItsFilterTakes) {
  SnapshotBuilder cluster;
  for (int i = 0; i < 3; ++i) {
    cluster.gpu().name = i == 2 ? "NVIDIA H200" : "NVIDIA A100";
  }
  cluster.job("light", 5).gpu_filter.indices = {1};
  cluster.job("light", 5).gpu_filter.type = "h200";
  cluster.job("light", 5).gpu_filter = {.indices = {1}, .type = "H200"};
  const PlacementDecision decision = decide(cluster);
  ASSERT_GE(decision.place.size(), 1U);
  for (const Placement& placement : decision.place) {
    EXPECT_EQ(placement.gpus, std::vector<unsigned>{placement.job == 1 ? 1U : 2U});
    EXPECT_NE(placement.job, 3);
  }
  for (const Deferral& deferral : decision.defer) {
    if (deferral.job == 3) {
      EXPECT_FALSE(deferral.reason.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPolicies,
                         PolicyContract,
                         testing::ValuesIn(names()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace carpool::policy
