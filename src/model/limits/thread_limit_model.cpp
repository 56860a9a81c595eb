#include "model/limits/thread_limit_model.hpp"

#include <utility>

#include "model/limits/limit_terms.hpp"
#include "model/limits/reference_campaign.hpp"
#include "model/limits/robust_fit.hpp"

namespace carpool::model {
namespace {

// Relative decrease of the cost at which the fit stops. On the V100 rows, speeds are then within
// 0.2 % of those at convergence on average and within 1 % at most.
constexpr double kTolerance = 1e-4;

}  // namespace

ThreadLimitModel ThreadLimitModel::fit(std::span<const ShareParameters> share,
                                       std::span<const dataset::GroupRow> partitions,
                                       std::span<const dataset::LimitedRun> solo_runs) {
  const LimitTerms terms(share, partitions, solo_runs, reference_campaign(share, partitions));
  const RobustFit fitted = minimise(terms, terms.start(share), kTolerance);
  const LimitPopulation population = LimitLayout::population(fitted.x, terms.prior().centre);
  std::vector<LimitParameters> workloads;
  workloads.reserve(share.size());
  for (std::size_t profile = 0; profile < share.size(); ++profile) {
    workloads.push_back(terms.layout().workloads().contains(profile)
                            ? terms.layout().parameters(profile, fitted.x)
                            : population.expect(share[profile]));
  }
  return {population, std::move(workloads)};
}

std::vector<dataset::LimitedRun> with_recorded_speeds(std::span<const dataset::LimitedRun> limited,
                                                      std::span<const Profile> profiles) {
  std::vector<dataset::LimitedRun> runs(limited.begin(), limited.end());
  std::vector<bool> measured(profiles.size(), false);
  for (const dataset::LimitedRun& run : limited) {
    measured[run.profile] = measured[run.profile] || run.thread_limit == kAllThreads;
  }
  for (std::size_t profile = 0; profile < profiles.size(); ++profile) {
    if (!measured[profile]) {
      runs.push_back({.profile = profile,
                      .thread_limit = kAllThreads,
                      .throughput = profiles[profile].exclusive_throughput});
    }
  }
  return runs;
}

}  // namespace carpool::model
