// Groups of three and more: the turn law, its fit and its forecasts.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "model/model_file.hpp"
#include "model/share/share_model.hpp"
#include "model/share/turn_fit.hpp"
#include "model/share/turn_law.hpp"
#include "model/tests/kace_data.hpp"

namespace carpool::model {
namespace {

TEST(TurnLaw, AMemberOfNoGroupLosesNothingAndEveryFurtherMemberSlows) {
  const Turn own = turn_of(-0.5, 0.3, 0.2);
  std::vector<Turn> others;
  double before = progress(own, others);
  EXPECT_DOUBLE_EQ(before, 1.0);
  for (int n = 0; n < 12; ++n) {
    others.push_back(turn_of(0.3 * n - 2.0, 1.0 - 0.2 * n, 0.0));
    const double now = progress(own, others);
    EXPECT_LT(now, before);
    EXPECT_GT(now, 0.0);
    before = now;
  }
}

// Where no member leaves room, each round runs one turn of every member.
TEST(TurnLaw, AFullGpuIsSharedByTheLengthOfTurns) {
  const Turn small = turn_of(std::log(1.0), -100.0, 0.0);
  const Turn large = turn_of(std::log(9.0), -100.0, 0.0);
  EXPECT_NEAR(progress(small, std::vector{large}), 0.1, 1e-4);
  EXPECT_NEAR(progress(large, std::vector{small}), 0.9, 1e-4);
  EXPECT_NEAR(progress(small, std::vector{large, large, large}), 1.0 / 28.0, 1e-4);
}

// A small member runs several kernels in the room that one partner leaves; further partners take
// that room.
TEST(TurnLaw, RoomThatOnePartnerLeavesIsTakenByTheNext) {
  const Turn small = turn_of(std::log(0.02), 0.0, 1.0);
  const Turn heavy = turn_of(0.0, -2.5, 1.0);
  const double one = progress(small, std::vector{heavy});
  const double two = progress(small, std::vector{heavy, heavy});
  const double six = progress(small, std::vector<Turn>(6, heavy));
  EXPECT_GT(one, 0.15);
  EXPECT_LT(two, 0.36 * one);       // the sum of two waits alone would give a little more than half
  EXPECT_LT(six, 0.3 * one / 6.0);  // all that is left are turns
  EXPECT_GT(six, 0.02 / (6.0 * 1.0));
}

// What a small member runs in the open time of a large one delays it: more than one small kernel a
// turn, unless others take the room.
TEST(TurnLaw, SlippedKernelsDelayWhoLeavesTheRoom) {
  const Turn large = turn_of(0.0, -2.0, 0.0);
  const Turn eager = turn_of(std::log(0.02), -2.0, 1.0);
  const Turn modest = turn_of(std::log(0.02), -2.0, -2.0);
  EXPECT_LT(progress(large, std::vector{eager}), 0.9 * progress(large, std::vector{modest}));
}

TEST(TurnLaw, WeightedSlopesAgreeWithFiniteDifferences) {
  const std::vector<double> latents = {-1.0, 0.4, 0.3, 0.5, -0.8, -0.4, 0.2, -2.0, 1.0};
  const std::vector<double> weights = {0.7, 1.6};
  const auto turn = [](const std::vector<double>& at, std::size_t member) {
    return turn_of(at[3 * member], at[3 * member + 1], at[3 * member + 2]);
  };
  const auto log_progress = [&](const std::vector<double>& at) {
    return std::log(progress(turn(at, 0), std::vector{turn(at, 1), turn(at, 2)}, weights));
  };
  const ProgressSlopes slopes =
      progress_slopes(turn(latents, 0), std::vector{turn(latents, 1), turn(latents, 2)}, weights);
  const std::vector<TurnSlopes> of = {slopes.own, slopes.others[0], slopes.others[1]};
  constexpr double kStep = 1e-6;
  for (std::size_t k = 0; k < latents.size(); ++k) {
    std::vector<double> moved = latents;
    moved[k] += kStep;
    const TurnSlopes& member = of[k / 3];
    const std::array<double, 3> slope = {member.length, member.open, member.slip};
    EXPECT_NEAR(slope.at(k % 3), (log_progress(moved) - log_progress(latents)) / kStep, 1e-5);
  }
}

TEST(TurnFit, SlopesAgreeWithFiniteDifferences) {
  LatentProblem problem{.workloads = 3,
                        .runs = {{.row = 0, .own = 0, .others = {1}, .log_throughput = 0.1},
                                 {.row = 1, .own = 1, .others = {0, 2}, .log_throughput = -0.4},
                                 {.row = 2, .own = 2, .others = {2, 1, 0}, .log_throughput = 0.3}},
                        .level = Eigen::VectorXd::Constant(3, 0.2),
                        .log_solo = {},
                        .noise = 0.1,
                        .noise_solo = 0.1,
                        .degrees_of_freedom = 4.0};
  Eigen::VectorXd latents(12);
  latents << 0.1, -0.2, 0.05, -1.0, 0.3, 0.8, 0.5, -0.7, 0.2, 0.4, -0.3, 1.1;
  const Linearised here = linearise_turns(problem, latents);
  constexpr double kStep = 1e-6;
  for (Eigen::Index unknown = 0; unknown < latents.size(); ++unknown) {
    Eigen::VectorXd moved = latents;
    moved(unknown) += kStep;
    const Linearised there = linearise_turns(problem, moved);
    for (std::size_t k = 0; k < problem.runs.size(); ++k) {
      double slope = 0.0;
      for (const Slope& part : here.slopes(k)) {
        slope += part.unknown == unknown ? part.value : 0.0;
      }
      EXPECT_NEAR(slope, -(there.residual[k] - here.residual[k]) / kStep, 1e-5);
    }
  }
}

// Eight workloads that follow the law exactly; only their pairs are measured.
class SyntheticTurns : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 8; ++i) {
      Profile profile;
      profile.workload = "w" + std::to_string(i);
      profile.exclusive_throughput = 10.0 * static_cast<double>(i + 1);
      dataset_.profiles.push_back(profile);
      const double x = static_cast<double>(i) - 3.5;
      turns_.push_back(turn_of(0.5 * x, -0.8 - 0.3 * x, -0.1 * x));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = i + 1; j < 8; ++j) {
        training_.rows.push_back(row({i, j}));
      }
    }
    training_.dataset = &dataset_;
    training_.fit_rows = training_.rows.size();
  }

  [[nodiscard]] dataset::GroupRow row(const std::vector<std::size_t>& members) const {
    dataset::GroupRow out;
    for (const std::size_t member : members) {
      std::vector<Turn> others;
      for (const std::size_t other : members) {
        if (other != member) {
          others.push_back(turns_[other]);
        }
      }
      out.members.push_back({.profile = member});
      out.throughput.push_back(dataset_.profiles[member].exclusive_throughput *
                               progress(turns_[member], others));
    }
    return out;
  }

  [[nodiscard]] static double mean_error(const dataset::GroupRow& truth,
                                         const GroupForecast& forecast) {
    double total = 0.0;
    for (std::size_t i = 0; i < truth.members.size(); ++i) {
      total += std::abs(std::log(forecast.members[i].throughput / truth.throughput[i]));
    }
    return total / static_cast<double>(truth.members.size());
  }

  dataset::Dataset dataset_;
  std::vector<Turn> turns_;
  TrainingSet training_;
};

TEST_F(SyntheticTurns, PairsAreEnoughToPredictLargerGroups) {
  const auto model = value_or_throw(train_share(training_));
  nlohmann::json without_turns = model->params();
  without_turns.erase("rounds");
  const auto by_weights = value_or_throw(load_share(model->card(), without_turns));
  const auto forecaster = value_or_throw(model->bind(dataset_.profiles));
  const auto weights = value_or_throw(by_weights->bind(dataset_.profiles));
  double error = 0.0;
  double error_of_weights = 0.0;
  for (const auto& members : std::vector<std::vector<std::size_t>>{
           {0, 3, 6}, {1, 2, 5, 7}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
    const dataset::GroupRow truth = row(members);
    const std::vector<Group> groups = {truth.members};
    error += mean_error(truth, forecaster->forecast(groups, ForecastDetail::PointOnly)[0]) / 4.0;
    error_of_weights +=
        mean_error(truth, weights->forecast(groups, ForecastDetail::PointOnly)[0]) / 4.0;
  }
  EXPECT_LT(error, 0.15);
  EXPECT_LT(error, 0.6 * error_of_weights);
}

class TurnForecasts : public ::testing::Test {
 protected:
  static const ThroughputModel& trained() {
    static const auto model = [] {
      TrainingSet training;
      training.dataset = &kace_data().dataset;
      training.rows = kace_data().pairs.rows;
      training.fit_rows = training.rows.size();
      return value_or_throw(train_share(training));
    }();
    return *model;
  }

  // `count` workloads of the pairs, one after the other.
  static Group group_of(std::size_t first, std::size_t count) {
    const auto& rows = kace_data().pairs.rows;
    Group group;
    for (std::size_t i = 0; i < count; ++i) {
      group.push_back(rows[(first + 7 * i) % rows.size()].members[i % 2]);
    }
    return group;
  }
};

// A further member takes room that another used against the first, so the law does not exclude a
// small gain.
TEST_F(TurnForecasts, AFurtherMemberHardlyEverSpeedsTheOthersUp) {
  const auto forecaster = value_or_throw(trained().bind(kace_data().dataset.profiles));
  std::size_t compared = 0;
  std::size_t faster = 0;
  for (std::size_t first = 0; first < 60; ++first) {
    std::vector<double> before;
    for (std::size_t count = 1; count <= 12; ++count) {
      const std::vector<Group> groups = {group_of(first, count)};
      const auto out = forecaster->forecast(groups, ForecastDetail::PointOnly);
      for (std::size_t i = 0; count > 2 && i < before.size(); ++i) {
        EXPECT_LE(out[0].members[i].throughput, before[i] * 1.05);
        ++compared;
        faster += out[0].members[i].throughput > before[i] * (1.0 + 1e-12) ? 1U : 0U;
      }
      before.clear();
      for (const MemberForecast& member : out[0].members) {
        EXPECT_GT(member.throughput, 0.0);
        before.push_back(member.throughput);
      }
      EXPECT_NEAR(forecaster->preferences(groups)[0], *out[0].sum, 1e-9 * *out[0].sum);
    }
  }
  EXPECT_LT(static_cast<double>(faster), 0.02 * static_cast<double>(compared));
}

TEST_F(TurnForecasts, NoMemberIsFasterThanBesideAnyOneOfTheOthers) {
  const auto forecaster = value_or_throw(trained().bind(kace_data().dataset.profiles));
  for (std::size_t first = 0; first < 20; ++first) {
    const Group group = group_of(first, 7);
    std::vector<Group> groups = {group};
    for (std::size_t other = 1; other < group.size(); ++other) {
      groups.push_back({group[0], group[other]});
    }
    const auto out = forecaster->forecast(groups, ForecastDetail::PointOnly);
    for (std::size_t pair = 1; pair < groups.size(); ++pair) {
      EXPECT_LE(out[0].members[0].throughput, out[pair].members[0].throughput * (1.0 + 1e-12));
    }
  }
}

TEST_F(TurnForecasts, TheOrderOfMembersDoesNotMatter) {
  const auto forecaster = value_or_throw(trained().bind(kace_data().dataset.profiles));
  const Group group = group_of(3, 9);
  Group reversed = group;
  std::reverse(reversed.begin(), reversed.end());
  const std::vector<Group> groups = {group, reversed};
  const auto out = forecaster->forecast(groups, ForecastDetail::WithIntervals);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const MemberForecast& there = out[0].members[i];
    const MemberForecast& here = out[1].members[group.size() - 1 - i];
    EXPECT_NEAR(there.throughput / here.throughput, 1.0, 1e-9);
    EXPECT_NEAR(there.interval90->high / here.interval90->high, 1.0, 1e-9);
  }
}

TEST_F(TurnForecasts, IntervalsWidenWithTheSizeOfAGroup) {
  const auto forecaster = value_or_throw(trained().bind(kace_data().dataset.profiles));
  const std::vector<Group> groups = {group_of(3, 3), group_of(3, 6), group_of(3, 12)};
  const auto out = forecaster->forecast(groups, ForecastDetail::WithIntervals);
  const auto width = [&](std::size_t i) {
    const Interval& interval = *out[i].members[0].interval90;
    return interval.high / interval.low;
  };
  EXPECT_LT(width(0), width(1));
  EXPECT_LT(width(1), width(2));
}

// A file of an earlier version has no turns, or those of another law, under another key: larger
// groups are predicted by weights.
TEST_F(TurnForecasts, AModelFileWithoutTurnsStillLoads) {
  const nlohmann::json whole = trained().params();
  nlohmann::json earlier = whole;
  earlier.erase("rounds");
  earlier["turns"] = whole.at("rounds");
  const auto now = value_or_throw(load_share(trained().card(), whole));
  const auto old = value_or_throw(load_share(trained().card(), earlier));
  const std::vector<Group> groups = {group_of(3, 2), group_of(3, 6)};
  const auto& profiles = kace_data().dataset.profiles;
  const auto by_turns =
      value_or_throw(now->bind(profiles))->forecast(groups, ForecastDetail::PointOnly);
  const auto by_weights =
      value_or_throw(old->bind(profiles))->forecast(groups, ForecastDetail::PointOnly);
  EXPECT_DOUBLE_EQ(*by_turns[0].sum, *by_weights[0].sum);
  EXPECT_NE(*by_turns[1].sum, *by_weights[1].sum);
  nlohmann::json damaged = whole;
  damaged["rounds"]["latents"].erase(0);
  EXPECT_FALSE(load_share(trained().card(), damaged).has_value());
}

}  // namespace
}  // namespace carpool::model
