#include "estimate/judge/evaluation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "estimate/judge/scores.hpp"
#include "estimate/registry.hpp"

namespace carpool::estimate {
namespace {

EstimatorTraining training_of(const RowFold& fold,
                              const std::vector<MeasuredJob>& rows,
                              double confidence,
                              FactsCache& cache) {
  EstimatorTraining training{.confidence = confidence, .cache = &cache};
  for (const std::size_t index : fold.train) {
    training.rows.push_back(&rows[index]);
  }
  for (const std::size_t index : fold.calibration) {
    training.calibration.push_back(&rows[index]);
  }
  return training;
}

void judge(const MemoryEstimator& estimator,
           const RowFold& fold,
           const std::vector<MeasuredJob>& rows,
           EstimatorResult& result,
           std::set<std::size_t>& unanswered) {
  for (const std::size_t index : fold.test) {
    const Stopwatch watch;
    const auto estimate = estimator.estimate(rows[index].job);
    const double seconds = watch.seconds();
    if (estimate) {
      result.estimates.push_back({.row = index,
                                  .expected = static_cast<double>(estimate->expected),
                                  .upper = static_cast<double>(estimate->upper),
                                  .seconds = seconds});
    } else {
      unanswered.insert(index);
    }
  }
}

// Estimates that others published for these rows, where the file contains them.
std::vector<EstimatorResult> published_results(const std::vector<MeasuredJob>& rows) {
  std::map<std::string, std::pair<EstimatorResult, std::set<std::size_t>>> by_name;
  for (const MeasuredJob& row : rows) {
    for (const auto& [name, bytes] : row.others) {
      by_name[name];
    }
  }
  std::vector<EstimatorResult> results;
  for (auto& [name, entry] : by_name) {
    auto& [result, unanswered] = entry;
    for (std::size_t index = 0; index < rows.size(); ++index) {
      if (const auto found = rows[index].others.find(name); found != rows[index].others.end()) {
        const auto bytes = static_cast<double>(found->second);
        result.estimates.push_back({.row = index, .expected = bytes, .upper = bytes});
      } else {
        unanswered.insert(index);
      }
    }
    result.scores = score_estimates(name + " (published)", rows, result.estimates, unanswered);
    results.push_back(std::move(result));
  }
  return results;
}

EstimatorResult judge_fitted(const std::vector<MeasuredJob>& rows,
                             const MemoryEstimator& estimator) {
  RowFold all;
  all.test.resize(rows.size());
  std::iota(all.test.begin(), all.test.end(), 0);
  EstimatorResult result;
  std::set<std::size_t> unanswered;
  judge(estimator, all, rows, result, unanswered);
  result.scores =
      score_estimates(std::string(estimator.name()), rows, result.estimates, unanswered);
  return result;
}

}  // namespace

Result<std::vector<EstimatorResult>> evaluate_estimators(const std::vector<MeasuredJob>& rows,
                                                         const EstimatorEvaluation& settings) {
  if (settings.fitted != nullptr) {
    std::vector<EstimatorResult> results;
    results.push_back(judge_fitted(rows, *settings.fitted));
    settings.fold_done(results.front().scores.front().estimator);
    return results;
  }
  const auto split = find_row_split(settings.split);
  if (!split) {
    return tl::unexpected(split.error());
  }
  const std::vector<RowFold> folds = (*split)->split(rows);
  FactsCache cache(settings.convolutions);
  std::vector<EstimatorResult> results;
  for (const std::string& name : settings.estimators) {
    const auto kind = find_estimator_kind(name);
    if (!kind) {
      return tl::unexpected(kind.error());
    }
    EstimatorResult result;
    std::set<std::size_t> unanswered;
    for (const RowFold& fold : folds) {
      const auto fitted = (*kind)->fit(training_of(fold, rows, settings.confidence, cache));
      if (fitted) {
        judge(**fitted, fold, rows, result, unanswered);
      } else if (fitted.error().code == ErrorCode::Unsupported) {
        result.refused = fitted.error().message;
        unanswered.insert(fold.test.begin(), fold.test.end());
      } else {
        return tl::unexpected(fitted.error());
      }
      settings.fold_done(name);
    }
    result.scores = score_estimates(name, rows, result.estimates, unanswered);
    results.push_back(std::move(result));
  }
  for (EstimatorResult& result : published_results(rows)) {
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace carpool::estimate
