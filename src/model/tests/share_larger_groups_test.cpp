// Groups of three and more on the bundled H200 measurements.
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "dataset/features.hpp"
#include "model/share/share_fit.hpp"
#include "model/share/share_model.hpp"
#include "model/tests/kace_data.hpp"

namespace carpool::model {
namespace {

struct H200Data {
  std::filesystem::path data = std::filesystem::path(CARPOOL_SOURCE_DIR) / "data";
  dataset::Dataset dataset = value_or_throw(dataset::load_dataset(data / "h200"));

  [[nodiscard]] std::vector<dataset::GroupRow> rows(
      std::initializer_list<const char*> tables) const {
    std::vector<dataset::GroupRow> out;
    for (const char* table : tables) {
      const auto loaded = value_or_throw(dataset::load_group_table(dataset, table));
      out.insert(out.end(), loaded.rows.begin(), loaded.rows.end());
    }
    return out;
  }
};

const H200Data& h200() {
  static const H200Data data;
  return data;
}

struct MemberAccuracy {
  double error = 0.0;    // mean of |predicted - measured| / measured
  double covered = 0.0;  // share of members inside their 90 % interval
};

MemberAccuracy judge(std::initializer_list<const char*> trained, const char* tested) {
  TrainingSet training;
  training.dataset = &h200().dataset;
  training.rows = h200().rows(trained);
  training.fit_rows = training.rows.size();
  const auto model = value_or_throw(train_share(training));
  const auto forecaster = value_or_throw(model->bind(h200().dataset.profiles));
  MemberAccuracy out;
  double members = 0.0;
  for (const dataset::GroupRow& row : h200().rows({tested})) {
    const std::vector<Group> groups = {row.members};
    const auto forecast = forecaster->forecast(groups, ForecastDetail::WithIntervals);
    for (std::size_t i = 0; i < row.members.size(); ++i) {
      const MemberForecast& member = forecast[0].members[i];
      out.error += std::abs(member.throughput - row.throughput[i]) / row.throughput[i];
      out.covered += member.interval90->low <= row.throughput[i] &&
                             row.throughput[i] <= member.interval90->high
                         ? 1.0
                         : 0.0;
      members += 1.0;
    }
  }
  out.error /= members;
  out.covered /= members;
  return out;
}

TEST(LargerGroups, PairsPredictTriplesAndQuads) {
  EXPECT_LT(judge({"pairs"}, "triples").error, 0.036);
  EXPECT_LT(judge({"pairs"}, "quads").error, 0.065);
}

TEST(LargerGroups, PairsAndQuadsPredictTriples) {
  EXPECT_LT(judge({"pairs", "quads"}, "triples").error, 0.034);
}

// Pairs are many and fit better: intervals of larger groups follow the larger groups.
TEST(LargerGroups, IntervalsCoverTheGroupsTrainedOn) {
  const MemberAccuracy quads = judge({"pairs", "quads"}, "quads");
  EXPECT_GT(quads.covered, 0.85);
  EXPECT_LT(quads.covered, 0.98);
}

// With a workload that was not trained on, the interval of a new size is at least as wide as under
// weights.
TEST(LargerGroups, ANewWorkloadWidensTheIntervalsOfAll) {
  TrainingSet training;
  training.dataset = &h200().dataset;
  for (const dataset::GroupRow& row : h200().rows({"pairs"})) {
    if (!row.contains(0)) {
      training.rows.push_back(row);
    }
  }
  training.fit_rows = training.rows.size();
  const auto model = value_or_throw(train_share(training));
  const auto forecaster = value_or_throw(model->bind(h200().dataset.profiles));
  Group known;
  for (std::size_t profile = 1; profile <= 8; ++profile) {
    known.push_back({.profile = profile});
  }
  Group with_new = known;
  with_new[7].profile = 0;
  const std::vector<Group> groups = {known, with_new};
  const auto out = forecaster->forecast(groups, ForecastDetail::WithIntervals);
  const auto log_width = [&](std::size_t group) {
    const Interval& interval = *out[group].members[0].interval90;
    return std::log(interval.high / interval.low);
  };
  EXPECT_GT(log_width(1), 1.3 * log_width(0));
  EXPECT_GT(log_width(1), 2.0 * 1.64 * 0.2 * std::log(7.0));
}

// The length of a turn, learned from the speeds of pairs, is the solo time per kernel launch, which
// only the profiler sees.
TEST(LargerGroups, TheLengthOfATurnFollowsTheTimePerLaunch) {
  const auto selection = value_or_throw(dataset::select_features(h200().dataset, "default"));
  const ShareFit fit = fit_share(h200().dataset.profiles, h200().rows({"pairs"}), selection);
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  Eigen::VectorXd launch(workloads);
  for (Eigen::Index i = 0; i < workloads; ++i) {
    const std::string& name = fit.trained[static_cast<std::size_t>(i)].workload;
    const std::string text =
        value_or_throw(read_file(h200().data / "h200-profiles" / (name + ".profile.json")));
    launch(i) =
        -std::log(nlohmann::json::parse(text).at("metrics").at("launches_per_s").get<double>());
  }
  Eigen::VectorXd length =
      fit.turns->latents.segment(static_cast<Eigen::Index>(kTurnLength) * workloads, workloads);
  launch.array() -= launch.mean();
  length.array() -= length.mean();
  EXPECT_GT(launch.dot(length) / (launch.norm() * length.norm()), 0.97);
  EXPECT_GT(length.norm() / launch.norm(), 0.75);
}

}  // namespace
}  // namespace carpool::model
