#include "estimate/bound/correction.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "learn/boosting.hpp"

namespace carpool::estimate {
namespace {

constexpr std::size_t kTreeRows = 500;  // measured convolutional nets, at least
constexpr std::size_t kCrossFolds = 5;
constexpr std::uint32_t kCorrectionSeed = 1;
constexpr learn::BoostingSettings kTrees = {
    .rounds = 250, .max_depth = 4, .learning_rate = 0.05, .row_share = 0.7, .feature_share = 1.0};

Result<std::shared_ptr<const learn::Regressor>> grow_trees(const KnownRows& rows,
                                                           const CarpoolFit& fit) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd inputs(count, static_cast<Eigen::Index>(kConvolutionFeatures));
  Eigen::VectorXd targets(count);
  for (Eigen::Index index = 0; index < count; ++index) {
    const Known& known = rows[static_cast<std::size_t>(index)];
    inputs.row(index) = Eigen::Map<const Eigen::RowVectorXd>(
        known.facts->features.data(), static_cast<Eigen::Index>(known.facts->features.size()));
    targets(index) = std::log(known.truth() / central_estimate(fit, known.row->job, *known.facts));
  }
  auto trees = learn::fit_boosted_trees(inputs, targets, kTrees, kCorrectionSeed);
  if (!trees) {
    return tl::unexpected(trees.error());
  }
  return std::shared_ptr<const learn::Regressor>(std::move(*trees));
}

// Rows of one model name stay together, so that trees are tested on names they were not fitted to.
std::size_t fold_of(const Known& known, std::map<std::string, std::size_t>& folds) {
  return folds.try_emplace(known.row->group, folds.size() % kCrossFolds).first->second;
}

// Errors of the rows of one fold, with trees fitted to the other folds.
Result<std::vector<LogError>> errors_of_fold(const KnownRows& trained,
                                             CarpoolFit fit,
                                             std::size_t fold) {
  std::map<std::string, std::size_t> folds;
  KnownRows inside;
  KnownRows outside;
  for (const Known& known : trained) {
    (fold_of(known, folds) == fold ? outside : inside).push_back(known);
  }
  if (inside.empty() || outside.empty()) {
    return std::vector<LogError>{};
  }
  auto trees = grow_trees(inside, fit);
  if (!trees) {
    return tl::unexpected(trees.error());
  }
  fit.correction = *trees;
  return log_errors(outside, fit);
}

double mean_size(const std::vector<LogError>& errors) {
  double sum = 0.0;
  for (const LogError& error : errors) {
    sum += std::abs(error.value);
  }
  return sum / static_cast<double>(std::max<std::size_t>(errors.size(), 1));
}

}  // namespace

std::vector<LogError> log_errors(const KnownRows& rows, const CarpoolFit& fit) {
  std::vector<LogError> errors;
  for (const Known& known : rows) {
    const double central = central_estimate(fit, known.row->job, *known.facts);
    errors.push_back({.family = known.facts->family,
                      .pool = margin_pool(known.row->job, *known.facts),
                      .value = std::log(known.truth() / central),
                      .spread = margin_spread(known.row->job, *known.facts, central)});
  }
  return errors;
}

Result<std::vector<LogError>> fit_correction(const KnownRows& convolutions, CarpoolFit& fit) {
  auto without = log_errors(convolutions, fit);
  if (convolutions.size() < kTreeRows) {
    return without;
  }
  std::vector<LogError> with;
  for (std::size_t fold = 0; fold < kCrossFolds; ++fold) {
    const auto here = errors_of_fold(convolutions, fit, fold);
    if (!here) {
      return tl::unexpected(here.error());
    }
    with.insert(with.end(), here->begin(), here->end());
    // In most cases the first fold decides and saves the time of the others.
    if (mean_size(with) >= mean_size(without)) {
      return without;
    }
  }
  auto trees = grow_trees(convolutions, fit);
  if (!trees) {
    return tl::unexpected(trees.error());
  }
  fit.correction = *trees;
  return with;
}

}  // namespace carpool::estimate
