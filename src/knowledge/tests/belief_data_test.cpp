// What is learned from groups that were measured on a GPU: data/h200 and data/h200-groups.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "dataset/dataset.hpp"
#include "knowledge/beliefs.hpp"
#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge {
namespace {

using fake::mine;
using fake::watch;

struct MeasuredGroup {
  std::vector<std::size_t> members{};
  std::vector<double> progress{};
};

struct MeasuredGpu {
  dataset::Dataset dataset{};
  std::vector<double> activity{};
  std::vector<MeasuredGroup> groups{};
};

MeasuredGpu load(const std::string& folder, const std::vector<std::string>& tables) {
  MeasuredGpu made{.dataset =
                       *dataset::load_dataset(std::string(CARPOOL_SOURCE_DIR "/data/") + folder)};
  for (const Profile& profile : made.dataset.profiles) {
    made.activity.push_back(profile.metrics.find("sm_active")->second);
  }
  for (const std::string& table : tables) {
    const auto rows = dataset::load_group_table(made.dataset, table);
    for (const dataset::GroupRow& row : rows->rows) {
      MeasuredGroup group;
      for (std::size_t i = 0; i < row.members.size(); ++i) {
        group.members.push_back(row.members[i].profile);
        group.progress.push_back(
            row.throughput[i] / made.dataset.profiles[row.members[i].profile].exclusive_throughput);
      }
      made.groups.push_back(std::move(group));
    }
  }
  return made;
}

class Replay {
 public:
  Replay(const MeasuredGpu& gpu, std::uint32_t seed) : gpu_(gpu), random_(seed) {}

  void solo(Beliefs& beliefs) {
    for (std::size_t i = 0; i < gpu_.activity.size(); ++i) {
      run(beliefs, {.members = {i}, .progress = {1.0}});
    }
  }
  void run(Beliefs& beliefs, const MeasuredGroup& group) {
    double sum = 0.0;
    fake::Watch told{.from_s = now_s_, .for_s = 12.0};
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      told.workloads.push_back(mine(gpu_.dataset.profiles[group.members[i]].workload));
      sum += gpu_.activity[group.members[i]] * group.progress[i];
    }
    told.sm_active = [this, sum] { return std::clamp(sum + normal(0.03), 0.0, 1.0); };
    told.rate = [this, &group](std::size_t i) {
      return 10.0 * group.progress[i] * std::exp(normal(0.02));
    };
    now_s_ = watch(beliefs, told);
  }
  [[nodiscard]] std::vector<MeasuredGroup> shuffled() {
    std::vector<MeasuredGroup> groups = gpu_.groups;
    std::shuffle(groups.begin(), groups.end(), random_);
    return groups;
  }
  // Of ln(progress), mean square.
  [[nodiscard]] double error(const Beliefs& beliefs, const MeasuredGroup& group) const {
    std::vector<InterferenceMember> named;
    named.reserve(group.members.size());
    for (const std::size_t member : group.members) {
      named.push_back({.workload = mine(gpu_.dataset.profiles[member].workload)});
    }
    const auto predicted = beliefs.progress(named);
    double sum = 0.0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      sum += std::pow(std::log(predicted[i] / group.progress[i]), 2.0);
    }
    return sum / static_cast<double>(predicted.size());
  }

 private:
  double normal(double deviation) {
    return std::normal_distribution<double>(0.0, deviation)(random_);
  }
  const MeasuredGpu& gpu_;
  std::mt19937 random_;
  double now_s_ = 0.0;
};

// The groups in some orders, each predicted before it runs. First and last are stages of that.
struct Outcome {
  double first_error = 0.0;  // of ln(progress), the first 10 groups
  double last_error = 0.0;   // groups 31 and later
  Coverage coverage{};
};

Outcome replay_all(const MeasuredGpu& gpu) {
  constexpr std::uint32_t kOrders = 8;
  Outcome made;
  double first = 0.0;
  double last = 0.0;
  for (std::uint32_t seed = 0; seed < kOrders; ++seed) {
    Replay replay(gpu, seed);
    Beliefs beliefs;
    replay.solo(beliefs);
    std::size_t ran = 0;
    for (const MeasuredGroup& group : replay.shuffled()) {
      const double error = replay.error(beliefs, group);
      if (ran < 10) {
        made.first_error += error;
        ++first;
      } else if (ran >= 30) {
        made.last_error += error;
        ++last;
      }
      replay.run(beliefs, group);
      ++ran;
    }
    made.coverage.inside += beliefs.coverage().inside;
    made.coverage.all += beliefs.coverage().all;
  }
  made.first_error = std::sqrt(made.first_error / first);
  made.last_error = std::sqrt(made.last_error / last);
  return made;
}

double share(const Coverage& coverage) {
  return static_cast<double>(coverage.inside) / static_cast<double>(coverage.all);
}

void record(const Outcome& outcome) {
  testing::Test::RecordProperty("first_error", std::to_string(outcome.first_error));
  testing::Test::RecordProperty("last_error", std::to_string(outcome.last_error));
  testing::Test::RecordProperty("covered", std::to_string(share(outcome.coverage)));
}

TEST(BeliefData, PairsToFoursOfAnH200) {
  const Outcome outcome = replay_all(load("h200", {"pairs", "triples", "quads"}));
  record(outcome);
  EXPECT_LT(outcome.first_error, 0.32);
  EXPECT_LT(outcome.last_error, 0.11);
  EXPECT_GT(outcome.coverage.all, 7'000U);
  EXPECT_GE(share(outcome.coverage), 0.85);
  EXPECT_LE(share(outcome.coverage), 0.95);
}

TEST(BeliefData, GroupsOfFiveToTwelveOfAnH200) {
  const Outcome outcome =
      replay_all(load("h200-groups", {"fives", "sixes", "sevens", "eights", "tens", "twelves"}));
  record(outcome);
  EXPECT_LT(outcome.first_error, 0.40);
  EXPECT_LT(outcome.last_error, 0.12);
  EXPECT_GT(outcome.coverage.all, 3'000U);
  EXPECT_GE(share(outcome.coverage), 0.85);
  EXPECT_LE(share(outcome.coverage), 0.95);
}

}  // namespace
}  // namespace carpool::knowledge
