// Speeds under MPS thread limits, learned on top of a share model (docs/mps-splits.md).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/profile.hpp"
#include "dataset/dataset.hpp"
#include "model/limits/limit_factor.hpp"
#include "model/limits/limit_population.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Immutable, thread-safe. To forecast a group, compute limit_traits() of each workload once, and
// add log_limit_factors() to the forecast of the share model for the group at 100 % each.
class ThreadLimitModel {
 public:
  // `share` by profile is fixed; only the effect of limits is fitted. The rows may be empty: what
  // they do not determine comes from the shipped population.
  [[nodiscard]] static ThreadLimitModel fit(std::span<const ShareParameters> share,
                                            std::span<const dataset::GroupRow> partitions,
                                            std::span<const dataset::LimitedRun> solo_runs);

  // Of a profile that fit() received.
  [[nodiscard]] const LimitParameters& parameters(std::size_t profile) const {
    return workloads_[profile];
  }
  // Of any other workload.
  [[nodiscard]] LimitParameters expect(const ShareParameters& share) const {
    return population_.expect(share);
  }
  [[nodiscard]] const LimitPopulation& population() const { return population_; }

  [[nodiscard]] nlohmann::json to_json() const;
  // Corrupt where a number is missing or not finite, or where there are not as many workloads.
  [[nodiscard]] static Result<ThreadLimitModel> from_json(const nlohmann::json& stored,
                                                          std::size_t workloads);

 private:
  ThreadLimitModel(LimitPopulation population, std::vector<LimitParameters> workloads)
      : population_(population), workloads_(std::move(workloads)) {}

  LimitPopulation population_;
  std::vector<LimitParameters> workloads_;  // by profile
};

// The limited runs, and the recorded solo speed of each profile that has no run at 100 % among
// them. The fit weighs a recorded speed against the capacity of the share model and discounts one
// that is far off, so that log_solo() is sound where recordings are stale.
[[nodiscard]] std::vector<dataset::LimitedRun> with_recorded_speeds(
    std::span<const dataset::LimitedRun> limited, std::span<const Profile> profiles);

}  // namespace carpool::model
