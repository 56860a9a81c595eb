#include "estimate/bound/carpool_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "estimate/bound/correction.hpp"

namespace carpool::estimate {
namespace {

// Jobs below this are mostly context.
constexpr double kLight = 1.2e9;             // bytes
constexpr double kHeavyEnough = 3e8;         // bytes, at least, to determine the slope
constexpr std::size_t kLightGroups = 3;      // at least, to determine the context
constexpr std::size_t kWorkspaceGroups = 4;  // model names, at least, to choose a workspace
constexpr double kClearlyBetter =
    0.97;  // share of the error below which another choice replaces the usual one

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

// One value per model name, so that names with many rows have no more weight.
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
    medians.push_back(median(values));
  }
  return medians;
}

// context: median of truth - replay of light jobs; slope: median of (truth - context) / replay of
// the others.
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
  fit.context = light.empty() ? 0.0 : std::max(0.0, median(light));
  const auto slopes = by_group(rows, [&](const Known& known) -> std::optional<double> {
    const double reserved = reserved_bytes(fit, *known.facts);
    return reserved > kHeavyEnough ? std::optional((known.truth() - fit.context) / reserved)
                                   : std::nullopt;
  });
  fit.slope = slopes.empty() ? 1.0 : std::clamp(median(slopes), 0.5, 2.0);
}

double mean_error(const KnownRows& rows, const CarpoolFit& fit) {
  double sum = 0.0;
  for (const Known& known : rows) {
    sum += std::abs(central_estimate(fit, known.row->job, *known.facts) / known.truth() - 1.0);
  }
  return sum / static_cast<double>(rows.size());
}

// For every class of convolutions that are known by rule of thumb only, the workspace factor that
// explains its rows best.
void fit_workspaces(const KnownRows& rows, CarpoolFit& fit) {
  std::map<std::string, KnownRows> classes;
  for (const Known& known : rows) {
    if (!known.facts->workspace_class.empty() && !known.facts->learned_workspaces) {
      classes[known.facts->workspace_class].push_back(known);
    }
  }
  for (const auto& [name, members] : classes) {
    std::set<std::string> groups;
    for (const Known& known : members) {
      groups.insert(known.row->group);
    }
    std::optional<std::size_t> best = kUsualWorkspaces;
    fit.workspaces[name] = best;
    if (groups.size() < kWorkspaceGroups) {
      continue;
    }
    // Fragmentation makes other choices unreliable, so they must be clearly better.
    double least = kClearlyBetter * mean_error(members, fit);
    for (const std::optional<std::size_t> choice : {std::optional<std::size_t>(),
                                                    std::optional<std::size_t>(0),
                                                    std::optional(kWorkspaceFactors.size() - 1)}) {
      fit.workspaces[name] = choice;
      if (const double error = mean_error(members, fit); error < least) {
        least = error;
        best = choice;
      }
    }
    fit.workspaces[name] = best;
  }
}

KnownRows with_convolutions(const KnownRows& rows, bool some) {
  KnownRows found;
  std::ranges::copy_if(rows, std::back_inserter(found), [some](const Known& known) {
    return known.facts->features.empty() != some;
  });
  return found;
}

}  // namespace

Result<const JobFacts*> FactsCache::of(const MeasuredJob& row) {
  if (const auto found = facts_.find(&row); found != facts_.end()) {
    return &found->second;
  }
  auto facts = facts_with_features(row.job, convolutions_.get());
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
    return invalid_input("no finished job to fit a memory estimator on");
  }
  CarpoolFit fit{.convolutions = training.cache->convolutions(), .confidence = training.confidence};
  // The workspaces and the context of an unknown machine depend on each other.
  fit_machine(*rows, fit);
  fit_workspaces(*rows, fit);
  fit_machine(*rows, fit);
  auto errors = fit_correction(with_convolutions(*rows, true), fit);
  if (!errors) {
    return tl::unexpected(errors.error());
  }
  const auto held_out = with_facts(training.calibration, *training.cache);
  if (!held_out) {
    return tl::unexpected(held_out.error());
  }
  if (held_out->empty()) {
    const auto others = log_errors(with_convolutions(*rows, false), fit);
    errors->insert(errors->end(), others.begin(), others.end());
  } else {
    *errors = log_errors(*held_out, fit);
  }
  fit.margin = ConformalMargin::of(*errors, fit.confidence);
  return std::make_unique<CarpoolEstimator>(std::move(fit));
}

}  // namespace carpool::estimate
