#include "model/share/design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace carpool::model {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestMetric = 1e-3;  // keeps log(0) away; as in the published constants
constexpr double kSmallestLack = 1e-2;    // of a full scale; counters are no finer
constexpr double kNoSpread = 1e-9;
// Log units: differences of less than a tenth are not scaled up.
constexpr double kLeastScale = 0.1;
constexpr double kFurthest = 5.0;  // standard deviations
// The published width of the feature effects is for ten metrics; more metrics must not widen the
// prior.
constexpr double kPublishedMetrics = 10.0;

struct Moments {
  double centre = 0.0;
  double scale = 0.0;
};

// Mean and deviation (n) of the known values; scale 0 when they do not vary.
Moments moments(const Eigen::VectorXd& column) {
  double sum = 0.0;
  double count = 0.0;
  for (const double value : column) {
    if (std::isfinite(value)) {
      sum += value;
      count += 1.0;
    }
  }
  if (count < 2.0) {
    return {};
  }
  const double centre = sum / count;
  double squares = 0.0;
  for (const double value : column) {
    if (std::isfinite(value)) {
      squares += (value - centre) * (value - centre);
    }
  }
  const double scale = std::sqrt(squares / count);
  return {.centre = centre, .scale = scale < kNoSpread ? 0.0 : scale};
}

double log_batch(const Profile& profile) {
  return profile.batch && *profile.batch > 0.0 ? std::log2(*profile.batch) : kUnknown;
}

// Bounded: with few trained workloads the deviation is uncertain, and the model is linear in the
// result.
double standardised(double value, double centre, double scale) {
  return std::isfinite(value) && scale > 0.0
             ? std::clamp((value - centre) / scale, -kFurthest, kFurthest)
             : 0.0;
}

}  // namespace

ShareDesign::ShareDesign(std::span<const Profile> trained,
                         const dataset::FeatureSelection& selection,
                         FeatureScale scale)
    : selection_(selection) {
  for (const dataset::MetricInfo& metric : selection_.metrics) {
    const auto full = scale == FeatureScale::FromBoth ? dataset::full_scale(metric.name)
                                                      : std::optional<double>{};
    columns_.push_back({.metric = metric.name, .full = full});
    if (full) {
      columns_.push_back({.metric = metric.name, .full = full, .from_full = true});
    }
  }
  if (!columns_.empty()) {
    columns_.push_back({});
  }
  const double least = scale == FeatureScale::FromBoth ? kLeastScale : 0.0;
  const Eigen::MatrixXd raw = log_metrics(trained);
  centre_.resize(raw.cols());
  scale_.resize(raw.cols());
  for (Eigen::Index column = 0; column < raw.cols(); ++column) {
    const Moments found = moments(raw.col(column));
    centre_(column) = found.centre;
    scale_(column) = found.scale > 0.0 ? std::max(found.scale, least) : 0.0;
  }
  Eigen::VectorXd batches(static_cast<Eigen::Index>(trained.size()));
  std::transform(trained.begin(), trained.end(), batches.begin(), log_batch);
  const Moments found = moments(batches);
  batch_centre_ = found.centre;
  batch_scale_ = found.scale;
}

double ShareDesign::raw(const Column& column, const Profile& profile) const {
  if (column.metric.empty()) {
    return std::log(profile.exclusive_throughput + kSmallestMetric);
  }
  const auto found = profile.metrics.find(column.metric);
  if (found == profile.metrics.end()) {
    return kUnknown;
  }
  const double value = std::max(found->second, 0.0);
  if (!column.full) {
    return std::log(value + kSmallestMetric);
  }
  const double share = std::min(value / *column.full, 1.0);
  return column.from_full ? -std::log(1.0 - share + kSmallestLack)
                          : std::log(share + kSmallestMetric);
}

Eigen::MatrixXd ShareDesign::log_metrics(std::span<const Profile> profiles) const {
  const auto rows = static_cast<Eigen::Index>(profiles.size());
  const auto columns = static_cast<Eigen::Index>(columns_.size());
  Eigen::MatrixXd out(rows, columns);
  for (Eigen::Index row = 0; row < rows; ++row) {
    for (Eigen::Index column = 0; column < columns; ++column) {
      out(row, column) =
          raw(columns_[static_cast<std::size_t>(column)], profiles[static_cast<std::size_t>(row)]);
    }
  }
  return out;
}

ShareDesign::Coordinates ShareDesign::place(std::span<const Profile> profiles) const {
  Coordinates out;
  out.features = log_metrics(profiles);
  for (Eigen::Index row = 0; row < out.features.rows(); ++row) {
    for (Eigen::Index column = 0; column < out.features.cols(); ++column) {
      out.features(row, column) =
          standardised(out.features(row, column), centre_(column), scale_(column));
    }
  }
  out.batch.resize(static_cast<Eigen::Index>(profiles.size()));
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const Profile& profile = profiles[i];
    out.batch(static_cast<Eigen::Index>(i)) =
        standardised(log_batch(profile), batch_centre_, batch_scale_);
    // Members of a family differ in batch: without a batch, the same model name does not make a
    // family.
    const bool has_family =
        !profile.model.empty() && batch_scale_ > 0.0 && std::isfinite(log_batch(profile));
    out.family.push_back(has_family ? "f\n" + profile.model + "\n" + profile.task
                                    : "w\n" + profile.workload);
    out.name.push_back(profile.workload);
    out.measured.push_back(std::any_of(
        selection_.metrics.begin(),
        selection_.metrics.end(),
        [&](const dataset::MetricInfo& metric) { return profile.metrics.contains(metric.name); }));
  }
  return out;
}

Eigen::MatrixXd ShareDesign::similarity(Similarity kind,
                                        const Coordinates& left,
                                        const Coordinates& right) const {
  const Eigen::Index rows = left.batch.size();
  const Eigen::Index columns = right.batch.size();
  const auto where = [&](auto same) {
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index i = 0; i < rows; ++i) {
      for (Eigen::Index j = 0; j < columns; ++j) {
        out(i, j) = same(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) ? 1.0 : 0.0;
      }
    }
    return out;
  };
  const auto same_family = [&](std::size_t i, std::size_t j) {
    return left.family[i] == right.family[j];
  };
  switch (kind) {
    case Similarity::Common:
      return Eigen::MatrixXd::Ones(rows, columns);
    case Similarity::Features: {
      const double metrics = std::max(1.0, static_cast<double>(left.features.cols()));
      return left.features * right.features.transpose() *
             std::min(1.0, kPublishedMetrics / metrics);
    }
    case Similarity::Family:
      return where(same_family);
    case Similarity::Batch:
      return left.batch * right.batch.transpose();
    case Similarity::FamilyBatch:
      return where(same_family).cwiseProduct(left.batch * right.batch.transpose());
    case Similarity::Own:
      break;
  }
  return where([&](std::size_t i, std::size_t j) { return left.name[i] == right.name[j]; });
}

}  // namespace carpool::model
