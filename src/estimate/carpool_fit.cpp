#include "estimate/carpool_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "estimate/convolution_features.hpp"
#include "estimate/median.hpp"
#include "learn/boosting.hpp"

namespace carpool {
namespace {

// Below this the part above the context is small beside it.
constexpr double kLight = 1.2e9;             // bytes
constexpr double kHeavyEnough = 3e8;         // bytes, to tell the slope
constexpr std::size_t kLightGroups = 3;      // at least, to tell the context
constexpr std::size_t kWorkspaceGroups = 4;  // model names at least, to choose a workspace
constexpr std::size_t kTreeRows = 500;       // measured convolutional nets at least
constexpr std::size_t kCrossFolds = 5;
constexpr std::uint32_t kSeed = 1;
constexpr BoostingSettings kTrees = {
    .rounds = 250, .max_depth = 4, .learning_rate = 0.05, .row_share = 0.7, .feature_share = 1.0};

struct Known {
  const MeasuredJob* row = nullptr;
  const JobFacts* facts = nullptr;
  [[nodiscard]] double truth() const { return static_cast<double>(row->truth()); }
};

using KnownRows = std::vector<Known>;

Result<KnownRows> with_facts(const std::vector<const MeasuredJob*>& rows, FactsCache& cache) {
  KnownRows known;
  for (const MeasuredJob* row : rows) {
    if (!row->finished || row->contested) {
      continue;
    }
    const auto facts = cache.of(*row);
    if (!facts) {
      return tl::unexpected(facts.error());
    }
    known.push_back({.row = row, .facts = *facts});
  }
  return known;
}

// One value a model name, so that a name with many rows has no more weight.
template <class Value>
std::vector<double> by_group(const KnownRows& rows, const Value& value) {
  std::map<std::string, std::vector<double>> groups;
  for (const Known& known : rows) {
    if (const auto here = value(known)) {
      groups[known.row->group].push_back(*here);
    }
  }
  std::vector<double> medians;
  medians.reserve(groups.size());
  for (const auto& [name, values] : groups) {
    medians.push_back(median_of(values));
  }
  return medians;
}

// context: what light jobs take beyond the replay; slope: what the others take for each byte of it.
void fit_machine(const KnownRows& rows, CarpoolFit& fit) {
  const bool unknown = std::ranges::any_of(
      rows, [](const Known& known) { return !known.row->job.machine.context_bytes; });
  if (!unknown) {
    return;
  }
  const auto beyond = [&](double limit) {
    return by_group(rows, [&](const Known& known) -> std::optional<double> {
      const double reserved = reserved_bytes(fit, *known.facts);
      return reserved < limit ? std::optional(known.truth() - reserved) : std::nullopt;
    });
  };
  std::vector<double> light = beyond(kLight);
  for (double limit = 2.0 * kLight; light.size() < kLightGroups && limit < 1e12; limit *= 2.0) {
    light = beyond(limit);
  }
  fit.context = light.empty() ? 0.0 : std::max(0.0, median_of(light));
  const auto slopes = by_group(rows, [&](const Known& known) -> std::optional<double> {
    const double reserved = reserved_bytes(fit, *known.facts);
    return reserved > kHeavyEnough ? std::optional((known.truth() - fit.context) / reserved)
                                   : std::nullopt;
  });
  fit.slope = slopes.empty() ? 1.0 : std::clamp(median_of(slopes), 0.5, 2.0);
}

double mean_log_error(const KnownRows& rows, const CarpoolFit& fit) {
  double sum = 0.0;
  for (const Known& known : rows) {
    sum += std::abs(std::log(central_estimate(fit, known.row->job, *known.facts) / known.truth()));
  }
  return sum / static_cast<double>(rows.size());
}

// For every class of convolutions the workspace that explains its rows best.
void fit_workspaces(const KnownRows& rows, CarpoolFit& fit) {
  std::map<std::string, KnownRows> classes;
  for (const Known& known : rows) {
    if (!known.facts->workspace_class.empty()) {
      classes[known.facts->workspace_class].push_back(known);
    }
  }
  for (const auto& [name, members] : classes) {
    std::set<std::string> groups;
    for (const Known& known : members) {
      groups.insert(known.row->group);
    }
    std::optional<std::size_t> best;
    fit.workspaces[name] = best;
    if (groups.size() < kWorkspaceGroups) {
      continue;
    }
    double least = mean_log_error(members, fit);
    for (std::size_t index = 0; index < kWorkspaceFactors.size(); ++index) {
      fit.workspaces[name] = index;
      if (const double error = mean_log_error(members, fit); error < least) {
        least = error;
        best = index;
      }
    }
    fit.workspaces[name] = best;
  }
}

Result<std::shared_ptr<const Regressor>> grow_trees(const KnownRows& rows, const CarpoolFit& fit) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd inputs(count, static_cast<Eigen::Index>(kConvolutionFeatures));
  Eigen::VectorXd targets(count);
  for (Eigen::Index index = 0; index < count; ++index) {
    const Known& known = rows[static_cast<std::size_t>(index)];
    inputs.row(index) = Eigen::Map<const Eigen::RowVectorXd>(
        known.facts->features.data(), static_cast<Eigen::Index>(known.facts->features.size()));
    targets(index) = std::log(known.truth() / central_estimate(fit, known.row->job, *known.facts));
  }
  auto trees = fit_boosted_trees(inputs, targets, kTrees, kSeed);
  if (!trees) {
    return tl::unexpected(trees.error());
  }
  return std::shared_ptr<const Regressor>(std::move(*trees));
}

KnownRows convolutional(const KnownRows& rows) {
  KnownRows found;
  std::ranges::copy_if(rows, std::back_inserter(found), [](const Known& known) {
    return !known.facts->features.empty();
  });
  return found;
}

std::vector<LogError> log_errors(const KnownRows& rows, const CarpoolFit& fit) {
  std::vector<LogError> errors;
  for (const Known& known : rows) {
    errors.push_back(
        {.family = known.facts->family,
         .pool = margin_pool(known.row->job, *known.facts),
         .value = std::log(known.truth() / central_estimate(fit, known.row->job, *known.facts))});
  }
  return errors;
}

// Errors of rows that the trees did not see: each fold is judged by trees of the others.
Result<std::vector<LogError>> cross_fitted_errors(const KnownRows& rows, CarpoolFit fit) {
  const KnownRows trained = convolutional(rows);
  std::vector<LogError> errors;
  for (std::size_t fold = 0; fold < kCrossFolds; ++fold) {
    KnownRows inside;
    KnownRows outside;
    for (std::size_t index = 0; index < trained.size(); ++index) {
      (index % kCrossFolds == fold ? outside : inside).push_back(trained[index]);
    }
    fit.correction = nullptr;
    auto trees = grow_trees(inside, fit);
    if (!trees) {
      return tl::unexpected(trees.error());
    }
    fit.correction = *trees;
    const auto here = log_errors(outside, fit);
    errors.insert(errors.end(), here.begin(), here.end());
  }
  KnownRows others;
  std::ranges::copy_if(rows, std::back_inserter(others), [](const Known& known) {
    return known.facts->features.empty();
  });
  const auto rest = log_errors(others, fit);
  errors.insert(errors.end(), rest.begin(), rest.end());
  return errors;
}

}  // namespace

Result<const JobFacts*> FactsCache::of(const MeasuredJob& row) {
  if (const auto found = facts_.find(&row); found != facts_.end()) {
    return &found->second;
  }
  auto facts = facts_of_job(row.job);
  if (!facts) {
    return tl::unexpected(facts.error());
  }
  return &facts_.emplace(&row, std::move(*facts)).first->second;
}

Result<std::unique_ptr<CarpoolEstimator>> fit_carpool(const EstimatorTraining& training) {
  const auto rows = with_facts(training.rows, *training.cache);
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  if (rows->empty()) {
    return invalid_input("no finished row to fit a memory estimator on");
  }
  CarpoolFit fit{.confidence = training.confidence};
  // The choice of a workspace and the context of an unknown machine depend on each other.
  fit_machine(*rows, fit);
  fit_workspaces(*rows, fit);
  fit_machine(*rows, fit);
  const KnownRows convolutions = convolutional(*rows);
  const bool learns = convolutions.size() >= kTreeRows;
  if (learns) {
    auto trees = grow_trees(convolutions, fit);
    if (!trees) {
      return tl::unexpected(trees.error());
    }
    fit.correction = *trees;
  }
  const auto held_out = with_facts(training.calibration, *training.cache);
  if (!held_out) {
    return tl::unexpected(held_out.error());
  }
  if (!held_out->empty()) {
    fit.margin = ConformalMargin::of(log_errors(*held_out, fit));
  } else if (learns) {
    const auto errors = cross_fitted_errors(*rows, fit);
    if (!errors) {
      return tl::unexpected(errors.error());
    }
    fit.margin = ConformalMargin::of(*errors);
  } else {
    fit.margin = ConformalMargin::of(log_errors(*rows, fit));
  }
  return std::make_unique<CarpoolEstimator>(std::move(fit));
}

}  // namespace carpool
