#include "model/share/share_fit.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "model/share/workload_view.hpp"
#include "model/tests/kace_data.hpp"

namespace carpool::model {
namespace {

std::vector<Profile> plain_profiles(std::size_t count) {
  std::vector<Profile> profiles(count);
  for (std::size_t i = 0; i < count; ++i) {
    profiles[i].workload = "w" + std::to_string(i);
    profiles[i].exclusive_throughput = 10.0 * static_cast<double>(i + 1);
  }
  return profiles;
}

// Equation 1 of docs/model.md.
double share_throughput(const std::vector<double>& capacity,
                        const std::vector<double>& weight,
                        const std::vector<double>& headroom,
                        const Group& group,
                        std::size_t member) {
  const std::size_t own = group[member].profile;
  double crowd = 1.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      crowd += std::exp(weight[group[j].profile] - weight[own] - headroom[own]);
    }
  }
  return capacity[own] / crowd;
}

LatentProblem small_problem() {
  LatentProblem problem;
  problem.workloads = 3;
  problem.runs = {{.row = 0, .own = 0, .others = {1}, .log_throughput = 2.0},
                  {.row = 0, .own = 1, .others = {0}, .log_throughput = 1.0},
                  {.row = 1, .own = 2, .others = {2, 0}, .log_throughput = 0.5}};
  problem.level = Eigen::VectorXd::Constant(3, 1.5);
  problem.log_solo = Eigen::Vector3d(2.0, 1.8, 1.2);
  problem.degrees_of_freedom = 3.0;
  return problem;
}

TEST(LatentFit, SlopesAgreeWithFiniteDifferences) {
  const LatentProblem problem = small_problem();
  Eigen::VectorXd latents(12);
  latents << 0.1, -0.2, 0.3, 0.4, -0.5, 0.2, 0.1, 0.6, -0.3, 0.2, 0.1, 0.05;
  const Linearised here = linearise(problem, latents);
  constexpr double kStep = 1e-6;
  for (Eigen::Index unknown = 0; unknown < 12; ++unknown) {
    Eigen::VectorXd moved = latents;
    moved(unknown) += kStep;
    const Linearised there = linearise(problem, moved);
    for (std::size_t k = 0; k < here.weight.size(); ++k) {
      double slope = 0.0;
      for (const Slope& entry : here.slopes(k)) {
        slope += entry.unknown == unknown ? entry.value : 0.0;
      }
      // residual = measured - predicted, so it falls as the prediction rises
      EXPECT_NEAR((here.residual[k] - there.residual[k]) / kStep, slope, 1e-5) << k << unknown;
    }
  }
}

TEST(LatentFit, MinimiseEndsWhereTheGradientVanishes) {
  const LatentProblem problem = small_problem();
  const Eigen::MatrixXd precision = Eigen::MatrixXd::Identity(12, 12);
  const auto steepest = [&](const Eigen::VectorXd& latents) {
    Eigen::VectorXd gradient = precision * latents;
    const Linearised here = linearise(problem, latents);
    for (std::size_t k = 0; k < here.weight.size(); ++k) {
      for (const Slope& entry : here.slopes(k)) {
        gradient(entry.unknown) -= here.weight[k] * here.residual[k] * entry.value;
      }
    }
    return gradient.cwiseAbs().maxCoeff();
  };
  Eigen::VectorXd latents = Eigen::VectorXd::Zero(12);
  EXPECT_GT(steepest(latents), 1.0);
  minimise(problem, precision, 200, latents);
  EXPECT_LT(steepest(latents), 1e-2);
}

TEST(LatentFit, AMemberMeasuredAtZeroIsLeftOutButStillPresses) {
  const std::vector<dataset::GroupRow> rows = {
      {.id = 0, .members = {{.profile = 0}, {.profile = 1}}, .throughput = {0.0, 5.0}}};
  const auto runs = to_member_runs(rows, std::vector<std::size_t>{0, 1});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].own, 1U);
  EXPECT_EQ(runs[0].others, std::vector<std::size_t>{0});
}

TEST(ShareFit, RecoversThroughputsOfASyntheticGpu) {
  const auto profiles = plain_profiles(6);
  const std::vector<double> capacity = {12.0, 22.0, 33.0, 45.0, 52.0, 66.0};
  const std::vector<double> weight = {-0.8, -0.3, 0.0, 0.2, 0.5, 0.9};
  const std::vector<double> headroom = {0.0, 0.3, 0.1, 0.0, 0.2, -0.1};
  std::vector<dataset::GroupRow> rows;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = i + 1; j < 6; ++j) {
      dataset::GroupRow row{.id = 0, .members = {{.profile = i}, {.profile = j}}, .throughput = {}};
      row.throughput = {share_throughput(capacity, weight, headroom, row.members, 0),
                        share_throughput(capacity, weight, headroom, row.members, 1)};
      rows.push_back(row);
    }
  }
  const ShareFit fit = fit_share(profiles, rows, {.metrics = {}});
  EXPECT_LT(fit.noise, 0.15);  // noiseless measurements pull it down from its start, 0.2
  EXPECT_LT(fit.holdout_error, 0.1);
  EXPECT_EQ(fit.sizes, std::vector<std::size_t>{2});
  EXPECT_EQ(fit.trained.size(), 6U);
}

// expected/ps_params_181pairs.csv holds the parameters of the given constants on all pairs.
TEST(ShareFit, GivenFitAgreesWithTheReferenceParameters) {
  const KaceData& data = kace_data();
  const auto selection = value_or_throw(dataset::select_features(data.dataset, "default"));
  const ShareFit fit = fit_share(data.dataset.profiles, data.pairs.rows, selection);
  std::istringstream file(
      value_or_throw(read_file(kace_folder() / "expected/ps_params_181pairs.csv")));
  std::string line;
  std::getline(file, line);
  std::size_t compared = 0;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string name;
    std::getline(cells, name, ',');
    double capacity = 0.0;
    double weight = 0.0;
    double headroom = 0.0;
    char comma = ',';
    cells >> capacity >> comma >> weight >> comma >> headroom;
    for (std::size_t i = 0; i < fit.trained.size(); ++i) {
      if (fit.trained[i].workload == name) {
        const auto count = static_cast<Eigen::Index>(fit.trained.size());
        const auto at = static_cast<Eigen::Index>(i);
        EXPECT_NEAR(std::log(fit.trained[i].exclusive_throughput) + fit.given(at), capacity, 5e-3);
        EXPECT_NEAR(fit.given(count + at), weight, 5e-3);
        EXPECT_NEAR(fit.given(2 * count + at), headroom, 5e-3);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 21U);
}

TEST(ShareFit, HierarchicalFitAgreesWithAnIndependentImplementation) {
  const KaceData& data = kace_data();
  const dataset::Split split = dataset::n_occur_split(data.pairs, 3, 10);
  const auto selection = value_or_throw(dataset::select_features(data.dataset, "default"));
  const ShareFit fit = fit_share(data.dataset.profiles, training_of(split).rows, selection);
  const auto golden = nlohmann::json::parse(value_or_throw(
      read_file(std::filesystem::path(CARPOOL_SOURCE_DIR) / "src/model/tests/share_golden.json")));
  EXPECT_NEAR(fit.level, golden.at("level").get<double>(), 1e-9);
  EXPECT_NEAR(fit.noise, golden.at("noise").get<double>(), 2e-3);
  EXPECT_NEAR(fit.noise_solo, golden.at("noise_alone").get<double>(), 2e-3);
  EXPECT_NEAR(fit.inflation, golden.at("inflation").get<double>(), 2e-2);
  EXPECT_NEAR(fit.holdout_error, golden.at("holdout_error").get<double>(), 2e-3);
  const auto count = static_cast<Eigen::Index>(fit.trained.size());
  ASSERT_EQ(count, 21);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto& expected =
        golden.at("workloads").at(fit.trained[static_cast<std::size_t>(i)].workload);
    for (Eigen::Index block = 0; block < 4; ++block) {
      EXPECT_NEAR(fit.hierarchical(block * count + i),
                  expected.at(static_cast<std::size_t>(block)).get<double>(),
                  5e-3);
    }
  }
  const ProfileViews views(fit, data.dataset.profiles);
  const auto& profiles = data.dataset.profiles;
  const auto place_of = [&profiles](const std::string& name) {
    return std::ranges::find(profiles, name, &Profile::workload) - profiles.begin();
  };
  const auto first = place_of(golden.at("first").get<std::string>());
  ASSERT_EQ(golden.at("company_of_first").size(), 21U);
  for (const auto& [name, expected] : golden.at("company_of_first").items()) {
    EXPECT_NEAR(views.pair_interaction()(first, place_of(name)), expected.get<double>(), 2e-3)
        << name;
  }
}

// Workloads 0 and 1 are similar, and so are 2 and 3; a pair of the two kinds runs slower than the
// weights predict, and one such pair was never measured.
TEST(ShareFit, PairInteractionIsLearnedFromSimilarWorkloads) {
  auto profiles = plain_profiles(8);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    profiles[i].metrics["threads"] = i < 2 ? 1e2 : i < 4 ? 1e6 : 3e3 * static_cast<double>(i);
  }
  std::vector<dataset::GroupRow> rows;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = i + 1; j < 8; ++j) {
      if (i == 0 && j == 2) {
        continue;
      }
      const double factor = i < 2 && j >= 2 && j < 4 ? 0.7 : 1.0;
      rows.push_back({.id = 0,
                      .members = {{.profile = i}, {.profile = j}},
                      .throughput = {factor * 5.0 * static_cast<double>(i + 1),
                                     factor * 5.0 * static_cast<double>(j + 1)}});
    }
  }
  const dataset::FeatureSelection selection{
      .metrics = {{.name = "threads", .combine = dataset::Combine::Sum, .group = {}}}};
  const ProfileViews views(fit_share(profiles, rows, selection), profiles);
  EXPECT_LT(views.pair_interaction()(0, 2), -0.05);
  EXPECT_LT(views.pair_interaction()(2, 0), -0.05);
  EXPECT_GT(views.pair_interaction()(0, 1), -0.05);
}

TEST(ShareDesign, SharesAreSeenFromBothEnds) {
  auto profiles = plain_profiles(3);
  profiles[0].metrics["sm_active"] = 0.5;
  profiles[1].metrics["sm_active"] = 0.90;
  profiles[2].metrics["sm_active"] = 0.99;
  const dataset::FeatureSelection selection{
      .metrics = {{.name = "sm_active", .combine = dataset::Combine::Mean, .group = {}}}};
  const ShareDesign both(profiles, selection);
  const auto features = both.place(profiles).features;
  ASSERT_EQ(features.cols(), 3);  // from zero, from full, and the solo throughput
  // 0.90 and 0.99 are close as shares, and far apart in what they leave idle.
  EXPECT_LT(features(2, 0) - features(1, 0), 0.5);
  EXPECT_GT(features(2, 1) - features(1, 1), 1.0);
  const ShareDesign given(profiles, selection, FeatureScale::Given);
  EXPECT_EQ(given.place(profiles).features.cols(), 2);
}

}  // namespace
}  // namespace carpool::model
