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

// Immutable, thread-safe. To forecast a group, take limit_traits() of each workload once, and add
// log_limit_factors() to what the share model says of the group at 100 % each.
class ThreadLimitModel {
 public:
  // `share` by profile; they are held, only what limits change is fitted. The rows may be empty:
  // what they leave open comes from the shipped population.
  [[nodiscard]] static ThreadLimitModel fit(std::span<const ShareParameters> share,
                                            std::span<const dataset::GroupRow> partitions,
                                            std::span<const dataset::LimitedRun> alone);

  // Of a profile that fit() was given.
  [[nodiscard]] const LimitParameters& parameters(std::size_t profile) const {
    return workloads_[profile];
  }
  // Of a workload that it was not given.
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

// The limited runs, and each profile's recorded speed alone where they do not hold one at 100 %.
// The fit weighs a recorded speed against the share model's capacity and disbelieves one that is
// far off, so that log_alone() is sound where recordings are stale.
[[nodiscard]] std::vector<dataset::LimitedRun> with_recorded_speeds(
    std::span<const dataset::LimitedRun> limited, std::span<const Profile> profiles);

}  // namespace carpool::model
