#include "model/published/sum_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/card.hpp"
#include "model/published/bound_features.hpp"

namespace carpool::model {

namespace {

// Sums in units/s of groups with these features.
Eigen::VectorXd predict_sums(const SumModelParts& parts, const Eigen::MatrixXd& rows) {
  const Eigen::VectorXd standardized = parts.regressor->predict(parts.inputs.apply(rows));
  return (standardized * parts.target_deviation).array() + parts.target_mean;
}

class SumForecaster final : public Forecaster {
 public:
  SumForecaster(const SumModelParts& parts, Eigen::MatrixXd members)
      : parts_(parts), members_(std::move(members)) {}

  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    ForecastDetail /*detail*/) const override {
    std::vector<GroupForecast> forecasts(candidates.size());
    if (candidates.empty()) {
      return forecasts;
    }
    const Eigen::MatrixXd rows = dataset::group_features(parts_.features, members_, candidates);
    const Eigen::VectorXd sums = predict_sums(parts_, rows);
    Eigen::VectorXd preferences = Eigen::VectorXd::Zero(rows.rows());
    if (candidates.size() > 1) {
      preferences = parts_.regressor->predict(learn::Standardizer::of(rows).apply(rows));
    }
    Eigen::Index row = 0;
    for (GroupForecast& forecast : forecasts) {
      forecast.preference = preferences(row);
      forecast.sum = sums(row);
      ++row;
    }
    return forecasts;
  }

 private:
  const SumModelParts& parts_;
  Eigen::MatrixXd members_;
};

std::vector<Group> groups_of(std::span<const dataset::GroupRow> rows) {
  std::vector<Group> groups;
  groups.reserve(rows.size());
  for (const dataset::GroupRow& row : rows) {
    groups.push_back(row.members);
  }
  return groups;
}

Eigen::VectorXd measured_sums(std::span<const dataset::GroupRow> rows) {
  Eigen::VectorXd sums(static_cast<Eigen::Index>(rows.size()));
  Eigen::Index position = 0;
  for (const dataset::GroupRow& row : rows) {
    sums(position++) = row.sum();
  }
  return sums;
}

// Mean of |predicted - measured| / measured; empty without a measured sum above 0.
std::optional<double> relative_error(const Eigen::VectorXd& predicted,
                                     const Eigen::VectorXd& measured) {
  double sum = 0.0;
  std::size_t counted = 0;
  for (Eigen::Index row = 0; row < measured.size(); ++row) {
    if (measured(row) > 0.0) {
      sum += std::abs(predicted(row) - measured(row)) / measured(row);
      ++counted;
    }
  }
  return counted == 0 ? std::nullopt : std::optional(sum / static_cast<double>(counted));
}

}  // namespace

SumModel::SumModel(ModelCard card, SumModelParts parts)
    : card_(std::move(card)), parts_(std::move(parts)) {}

Result<std::unique_ptr<Forecaster>> SumModel::bind(std::span<const Profile> profiles) const {
  auto members = bound_features(parts_.features, profiles, card_.kind);
  if (!members) {
    return tl::unexpected(members.error());
  }
  return std::make_unique<SumForecaster>(parts_, *std::move(members));
}

Result<std::unique_ptr<ThroughputModel>> train_sum_model(std::string_view kind,
                                                         const TrainingSet& training,
                                                         dataset::FeatureSelection features,
                                                         const learn::Fit& fit) {
  if (training.fit_rows < 2 || training.fit_rows > training.rows.size()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} needs at least two measured groups to fit on; got {}",
                            kind,
                            std::min(training.fit_rows, training.rows.size())));
  }
  if (features.size() == 0) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} has no feature to use; select others with --features", kind));
  }
  const auto members = bound_features(features, training.dataset->profiles, kind);
  if (!members) {
    return tl::unexpected(members.error());
  }
  const std::span<const dataset::GroupRow> all(training.rows);
  const std::span<const dataset::GroupRow> fitted = all.first(training.fit_rows);
  const std::span<const dataset::GroupRow> others = all.subspan(training.fit_rows);
  const Eigen::MatrixXd rows = dataset::group_features(features, *members, groups_of(fitted));
  const Eigen::MatrixXd sums = measured_sums(fitted);
  SumModelParts parts{.features = std::move(features),
                      .inputs = learn::Standardizer::of(rows),
                      .target_mean = 0.0,
                      .target_deviation = 0.0,
                      .regressor = nullptr};
  const learn::Standardizer targets = learn::Standardizer::of(sums);
  parts.target_mean = targets.mean(0);
  parts.target_deviation = targets.deviation(0);
  auto regressor = fit(parts.inputs.apply(rows), targets.apply(sums));
  if (!regressor) {
    return tl::unexpected(regressor.error());
  }
  parts.regressor = *std::move(regressor);
  ModelCard card = describe_training(kind, training, fitted, parts.features);
  const Eigen::MatrixXd held_out =
      dataset::group_features(parts.features, *members, groups_of(others));
  card.holdout_mape = relative_error(predict_sums(parts, held_out), measured_sums(others));
  return std::make_unique<SumModel>(std::move(card), std::move(parts));
}

}  // namespace carpool::model
