// Training: the linear model of KACE, the forest search of KACE-RF, and `share`.
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "bench_case.hpp"
#include "dataset/features.hpp"
#include "learn/forest_search.hpp"
#include "learn/linear.hpp"
#include "learn/standardizer.hpp"
#include "model/published/published_fits.hpp"
#include "model/registry.hpp"
#include "model/share/share_fit.hpp"

namespace carpool {
namespace {

using nlohmann::json;

std::vector<Group> groups_of(std::span<const dataset::GroupRow> rows) {
  std::vector<Group> groups;
  for (const dataset::GroupRow& row : rows) {
    groups.push_back(row.members);
  }
  return groups;
}

// The training data of the published models, before and after standardizing.
struct SumProblem {
  Eigen::MatrixXd members;  // features of every profile
  std::vector<Group> groups;
  Eigen::MatrixXd sums;  // one column
  Eigen::MatrixXd inputs;
  Eigen::VectorXd targets;
};

std::shared_ptr<SumProblem> sum_problem(const BenchData& data, const BenchSplit& split) {
  const std::span<const dataset::GroupRow> fitted = std::span(split.training).first(split.fit_rows);
  auto out = std::make_shared<SumProblem>();
  out->members = dataset::member_features(data.features, data.dataset.profiles);
  out->groups = groups_of(fitted);
  out->sums.resize(static_cast<Eigen::Index>(fitted.size()), 1);
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    out->sums(static_cast<Eigen::Index>(i), 0) = fitted[i].sum();
  }
  const Eigen::MatrixXd rows = dataset::group_features(data.features, out->members, out->groups);
  out->inputs = learn::Standardizer::of(rows).apply(rows);
  out->targets = learn::Standardizer::of(out->sums).apply(out->sums);
  return out;
}

// The steps of train_sum_model() without the model card.
std::unique_ptr<learn::LinearRegressor> train_linear(const BenchData& data,
                                                     const SumProblem& problem) {
  const Eigen::MatrixXd rows =
      dataset::group_features(data.features, problem.members, problem.groups);
  const Eigen::MatrixXd inputs = learn::Standardizer::of(rows).apply(rows);
  const Eigen::VectorXd targets = learn::Standardizer::of(problem.sums).apply(problem.sums);
  return learn::fit_least_squares(inputs, targets);
}

json coefficients(const learn::LinearRegressor& fitted) {
  return {{"coefficients",
           std::vector<double>(fitted.coefficients().begin(), fitted.coefficients().end())},
          {"intercept", fitted.intercept()}};
}

void add_linear(const BenchData& data, const BenchSplit& split, std::vector<BenchCase>& cases) {
  const auto problem = sum_problem(data, split);
  cases.push_back(
      {.name = "lr_train/" + split.name,
       .run = [&data, problem] { return train_linear(data, *problem)->intercept(); },
       .answer = [&data, problem] { return coefficients(*train_linear(data, *problem)); }});
  cases.push_back(
      {.name = "lr_fit/" + split.name,
       .run =
           [problem] {
             return learn::fit_least_squares(problem->inputs, problem->targets)->intercept();
           },
       .answer =
           [problem] {
             return coefficients(*learn::fit_least_squares(problem->inputs, problem->targets));
           }});
}

// Predicted sums of the test rows, through the whole program.
json predicted_sums(const BenchData& data, const BenchSplit& split, std::string_view kind) {
  const auto trained = (*model::find_model_kind(kind))->train(data.training_set(split));
  const auto forecaster = (*trained)->bind(data.dataset.profiles);
  json sums = json::array();
  for (const GroupForecast& forecast :
       (*forecaster)->forecast(groups_of(split.test), model::ForecastDetail::PointOnly)) {
    sums.push_back(forecast.sum.value_or(0.0));
  }
  return {{"sums", sums}};
}

void add_share(const BenchData& data, const BenchSplit& split, std::vector<BenchCase>& cases) {
  cases.push_back(
      {.name = "share_fit/" + split.name,
       .run =
           [&data, &split] {
             return model::fit_share(data.dataset.profiles, split.training, data.features).noise;
           },
       .answer = [&data, &split] { return predicted_sums(data, split, "share"); }});
}

// The winner of the search and its score.
json search_result(const SumProblem& problem) {
  constexpr std::uint32_t kPublishedSeed = 42;
  const auto drawn = learn::draw_settings(learn::published_forest_space(), 100, kPublishedSeed);
  const auto search =
      learn::search_forest(problem.inputs, problem.targets, drawn, 5, kPublishedSeed);
  const learn::ForestSettings& best = drawn[search.best];
  return {{"best", search.best},
          {"score", search.scores[search.best]},
          {"trees", best.trees},
          {"min_samples_split", best.min_samples_split},
          {"min_samples_leaf", best.min_samples_leaf},
          {"bootstrap", best.bootstrap}};
}

}  // namespace

std::vector<BenchCase> training_cases(const BenchData& data) {
  std::vector<BenchCase> cases;
  for (const BenchSplit& split : data.splits) {
    add_linear(data, split, cases);
    add_share(data, split, cases);
  }
  const auto problem = sum_problem(data, data.splits.front());
  cases.push_back({.name = "forest_search/" + data.splits.front().name,
                   .run =
                       [problem] {
                         const auto forest =
                             model::published_forest_fit(0)(problem->inputs, problem->targets);
                         return static_cast<double>((*forest)->inputs());
                       },
                   .answer = [problem] { return search_result(*problem); }});
  return cases;
}

}  // namespace carpool
