#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/numpy_random.hpp"
#include "model/limits/limit_terms.hpp"
#include "model/limits/reference_campaign.hpp"
#include "model/limits/robust_fit.hpp"
#include "model/limits/thread_limit_model.hpp"

namespace carpool::model {
namespace {

constexpr std::array<ShareParameters, 3> kFittedShare{
    {{3.0, -0.4, 0.2}, {2.0, 0.5, -0.1}, {4.0, 0.1, 0.6}}};

dataset::GroupRow row(Group members, std::vector<double> throughput, std::string campaign = "") {
  return {.id = 0,
          .members = std::move(members),
          .throughput = std::move(throughput),
          .campaign = std::move(campaign)};
}

// Every kind of term: two campaigns, disjoint, overlapping and full sharing, equal members, three
// members, solo runs, priors.
LimitTerms many_terms() {
  const std::vector<dataset::GroupRow> groups = {
      row({{0, 30}, {1, 70}}, {5.0, 3.0}),
      row({{0, 30}, {1, 70}}, {6.0, 2.0}, "other"),
      row({{0, 80}, {2, 60}}, {9.0, 20.0}, "other"),
      row({{1, 100}, {2, 100}}, {3.0, 30.0}, "other"),
      row({{0, 40}, {0, 60}}, {7.0, 9.0}, "other"),
      row({{0, 50}, {1, 50}, {2, 50}}, {4.0, 2.0, 11.0}, "other"),
  };
  const std::vector<dataset::LimitedRun> solo_runs = {{0, 100, 15.0}, {2, 20, 12.0}};
  return {kFittedShare, groups, solo_runs, ""};
}

TEST(LimitTerms, HaveTheSlopesOfTheirResiduals) {
  const LimitTerms terms = many_terms();
  Eigen::VectorXd x = terms.start(kFittedShare);
  NumpyRandom random(3);
  for (double& value : x) {
    value += 0.3 * random.normal();
  }
  ASSERT_EQ(terms.size(), 13U + 2U + 9U + 3U * 4U + 3U * 3U + 2U * 2U);
  constexpr double kStep = 1e-5;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    SparseRow row;
    ASSERT_EQ(terms.residual(term, x, &row), terms.residual(term, x, nullptr));
    Eigen::VectorXd slopes = Eigen::VectorXd::Zero(x.size());
    for (const SparseEntry& entry : row) {
      slopes[entry.column] += entry.slope;
    }
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Eigen::VectorXd above = x;
      Eigen::VectorXd below = x;
      above[i] += kStep;
      below[i] -= kStep;
      const double difference =
          (terms.residual(term, above, nullptr) - terms.residual(term, below, nullptr)) /
          (2 * kStep);
      EXPECT_NEAR(slopes[i], difference, 1e-6 * (1.0 + std::abs(difference)))
          << "term " << term << ", unknown " << i;
    }
  }
}

TEST(LimitTerms, AgreeWithTheFactorsThatForecastsUse) {
  // In the reference campaign a group under limits runs at its unlimited speed times the factor.
  const Group limited{{0, 30}, {1, 90}, {2, 40}};
  const Group unlimited{{0, 100}, {1, 100}, {2, 100}};
  const std::vector<dataset::GroupRow> groups = {row(limited, {1.0, 1.0, 1.0}),
                                                 row(unlimited, {1.0, 1.0, 1.0})};
  const LimitTerms terms(kFittedShare, groups, {}, "");
  const Eigen::VectorXd x = terms.start(kFittedShare);
  std::vector<LimitTraits> traits;
  traits.reserve(kFittedShare.size());
  for (std::size_t i = 0; i < kFittedShare.size(); ++i) {
    traits.push_back(limit_traits(kFittedShare[i], terms.layout().parameters(i, x)));
  }
  std::vector<double> factors(3);
  log_limit_factors(traits, limited, factors);
  for (std::size_t i = 0; i < 3; ++i) {
    // log 1 = 0 was measured, so a residual is the log speed over its deviation (0.04 and 0.1).
    const double speed = 0.04 * terms.residual(i, x, nullptr);
    const double unlimited_speed = 0.1 * terms.residual(i + 3, x, nullptr);
    EXPECT_NEAR(speed - unlimited_speed, factors[i], 1e-12);
  }
}

// A location with a vague Gaussian prior and Student-t measurements.
class Location final : public RobustTerms {
 public:
  explicit Location(std::vector<double> measured) : measured_(std::move(measured)) {}
  [[nodiscard]] std::size_t size() const override { return measured_.size() + 1; }
  [[nodiscard]] double tail(std::size_t term) const override {
    return term < measured_.size() ? 4.0 : kGaussianTail;
  }
  [[nodiscard]] double residual(std::size_t term,
                                const Eigen::VectorXd& x,
                                SparseRow* row) const override {
    const bool prior = term == measured_.size();
    const double deviation = prior ? 1000.0 : 0.1;
    if (row != nullptr) {
      row->push_back({.column = 0, .slope = 1.0 / deviation});
    }
    return (x[0] - (prior ? 0.0 : measured_[term])) / deviation;
  }

 private:
  std::vector<double> measured_;
};

double locate(std::vector<double> measured) {
  return minimise(Location(std::move(measured)), Eigen::VectorXd::Zero(1), 1e-12).x[0];
}

TEST(RobustFit, IsHardlyMovedByAnOutlier) {
  EXPECT_NEAR(locate({2.0, 2.1, 1.9, 2.05, 1.95}), 2.0, 1e-4);
  EXPECT_NEAR(locate({2.0, 2.1, 1.9, 2.05, 50.0}), 2.0, 0.02);
}

TEST(ReferenceCampaign, IsTheOneWithoutAName) {
  EXPECT_EQ(reference_campaign(kFittedShare,
                               std::vector{row({{0, 100}, {1, 100}}, {1.0, 1.0}, "a"),
                                           row({{0, 50}, {1, 50}}, {1.0, 1.0})}),
            "");
  EXPECT_EQ(reference_campaign(kFittedShare, {}), "");
}

TEST(ReferenceCampaign, IsElseTheOneThatTheShareModelReproduces) {
  // T = exp(c) / (1 + exp(b_j - b_i - d_i)) for members 0 and 1.
  const double first = std::exp(3.0) / (1.0 + std::exp(0.5 + 0.4 - 0.2));
  const double second = std::exp(2.0) / (1.0 + std::exp(-0.4 - 0.5 + 0.1));
  const Group pair{{0, 100}, {1, 100}};
  const std::vector<dataset::GroupRow> rows = {row(pair, {2.0 * first, second}, "a"),
                                               row(pair, {2.0 * first, second}, "a"),
                                               row(pair, {1.1 * first, 0.9 * second}, "b"),
                                               row({{0, 50}, {1, 50}}, {1.0, 1.0}, "a")};
  EXPECT_EQ(reference_campaign(kFittedShare, rows), "b");
}

TEST(ReferenceCampaign, IsTheLargestWhereNothingWasMeasuredWithoutLimits) {
  const Group halves{{0, 50}, {1, 50}};
  EXPECT_EQ(reference_campaign(kFittedShare,
                               std::vector{row(halves, {1.0, 1.0}, "a"),
                                           row(halves, {1.0, 1.0}, "b"),
                                           row(halves, {1.0, 1.0}, "b")}),
            "b");
}

// Rows that a model makes, without noise.
std::vector<dataset::GroupRow> rows_of(std::span<const LimitParameters> limits,
                                       double another_version) {
  std::vector<LimitTraits> traits;
  traits.reserve(kFittedShare.size());
  for (std::size_t i = 0; i < kFittedShare.size(); ++i) {
    traits.push_back(limit_traits(kFittedShare[i], limits[i]));
  }
  std::vector<dataset::GroupRow> rows;
  for (std::size_t left = 0; left < kFittedShare.size(); ++left) {
    for (std::size_t right = 0; right < kFittedShare.size(); ++right) {
      for (double limit = 10; limit <= 90; limit += 10) {
        const Group group{{left, limit}, {right, 100 - limit}};
        std::vector<double> speed(2);
        log_limit_factors(traits, group, speed);
        for (std::size_t i = 0; i < 2; ++i) {
          const ShareParameters& own = kFittedShare[group[i].profile];
          const ShareParameters& other = kFittedShare[group[1 - i].profile];
          const double crowd = std::exp(other.log_weight - own.log_weight - own.headroom);
          speed[i] = std::exp(own.log_capacity + speed[i]) / (1.0 + crowd);
        }
        rows.push_back(row(group, speed));
        rows.push_back(row(group, {speed[0] * another_version, speed[1] * another_version}, "b"));
      }
    }
  }
  return rows;
}

TEST(ThreadLimitModel, RecoversTheParametersThatMadeTheRows) {
  const std::vector<LimitParameters> truth = {
      {0.7, -2.0, 0.3, 0.25}, {1.5, -2.4, 0.5, 0.1}, {-0.5, -2.2, -0.3, 0.3}};
  // In campaign b every job runs three times as fast, which must not disturb the reference.
  const auto model = ThreadLimitModel::fit(kFittedShare, rows_of(truth, 3.0), {});
  std::vector<LimitTraits> made;
  std::vector<LimitTraits> found;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_NEAR(model.parameters(i).log_parallelism, truth[i].log_parallelism, 0.1);
    made.push_back(limit_traits(kFittedShare[i], truth[i]));
    found.push_back(limit_traits(kFittedShare[i], model.parameters(i)));
  }
  for (double limit = 5; limit <= 95; limit += 5) {
    const Group group{{0, limit}, {1, 100 - limit}};
    std::vector<double> expected(2);
    std::vector<double> fitted(2);
    log_limit_factors(made, group, expected);
    log_limit_factors(found, group, fitted);
    EXPECT_NEAR(fitted[0], expected[0], 0.02) << limit;
    EXPECT_NEAR(fitted[1], expected[1], 0.02) << limit;
  }
}

TEST(ThreadLimitModel, WithoutRowsIsTheShippedPopulation) {
  const auto model = ThreadLimitModel::fit(kFittedShare, {}, {});
  const LimitParameters expected = shipped_population().expect(kFittedShare[1]);
  EXPECT_NEAR(model.parameters(1).log_parallelism, expected.log_parallelism, 1e-9);
  EXPECT_NEAR(model.parameters(1).log_sensitivity, expected.log_sensitivity, 1e-9);
  EXPECT_NEAR(model.expect(kFittedShare[1]).log_pressure, expected.log_pressure, 1e-9);
  EXPECT_NEAR(model.population().sharing_gain, 0.14, 1e-9);
}

TEST(ThreadLimitModel, LearnsCurvesOfSoloRunsAndKeepsTheShippedContention) {
  // s(p) with k = e: the solo curve of member 0; nothing was measured in groups.
  const double k = std::exp(1.0);
  std::vector<dataset::LimitedRun> solo_runs;
  for (double limit = 10; limit <= 100; limit += 10) {
    const double p = limit / 100;
    solo_runs.push_back({0, limit, std::exp(2.8) * p * (1 + k) / (p + k)});
  }
  const auto model = ThreadLimitModel::fit(kFittedShare, {}, solo_runs);
  EXPECT_NEAR(model.parameters(0).log_parallelism, 1.0, 0.1);
  const LimitParameters shipped = shipped_population().expect(kFittedShare[0]);
  EXPECT_NEAR(model.parameters(0).log_sensitivity + model.parameters(1).log_pressure,
              shipped.log_sensitivity + shipped_population().expect(kFittedShare[1]).log_pressure,
              1e-3);
}

TEST(ThreadLimitModel, BelievesARecordedSpeedUnlessItIsFarOff) {
  // Capacity exp(3), solo speed exp(2.7): as usual. Capacity exp(2), solo speed exp(4): stale.
  const std::vector<dataset::LimitedRun> solo_runs = {{0, 100, std::exp(2.7)},
                                                      {1, 100, std::exp(4.0)}};
  const auto model = ThreadLimitModel::fit(kFittedShare, {}, solo_runs);
  EXPECT_NEAR(log_solo(kFittedShare[0], model.parameters(0)), 2.7, 0.03);
  EXPECT_NEAR(log_solo(kFittedShare[1], model.parameters(1)), 2.0 - 0.14, 0.1);
}

TEST(ThreadLimitModel, SkipsSpeedsOfZero) {
  const std::vector<dataset::GroupRow> rows = {row({{0, 50}, {1, 50}}, {0.0, 2.0})};
  const auto model = ThreadLimitModel::fit(kFittedShare, rows, {});
  EXPECT_TRUE(std::isfinite(model.parameters(0).log_parallelism));
  EXPECT_TRUE(std::isfinite(model.parameters(1).sharing_gain));
}

TEST(WithRecordedSpeeds, AddsThoseThatNoRunHolds) {
  std::vector<Profile> profiles(2);
  profiles[0].exclusive_throughput = 7.0;
  profiles[1].exclusive_throughput = 9.0;
  const std::vector<dataset::LimitedRun> limited = {{0, 50, 4.0}, {1, 100, 8.0}};
  const auto runs = with_recorded_speeds(limited, profiles);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2].profile, 0U);
  EXPECT_EQ(runs[2].thread_limit, 100.0);
  EXPECT_EQ(runs[2].throughput, 7.0);
}

}  // namespace
}  // namespace carpool::model
