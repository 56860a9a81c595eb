// Where each unknown of the thread-limit fit stands in the vector x.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <Eigen/Core>

#include "dataset/dataset.hpp"
#include "model/limits/limit_factor.hpp"
#include "model/limits/limit_population.hpp"

namespace carpool::model {

// The numbers of a LimitPopulation; a pair of slopes takes two places, weight first.
struct PopulationAt {
  static constexpr Eigen::Index kParallelism = 0;
  static constexpr Eigen::Index kParallelismSlopes = 1;
  static constexpr Eigen::Index kContention = 3;
  static constexpr Eigen::Index kSensitivitySlopes = 4;
  static constexpr Eigen::Index kPressureSlopes = 6;
  static constexpr Eigen::Index kSharingGain = 8;
  static constexpr Eigen::Index kCount = 9;
};

// The LimitParameters of a workload, counted from its first unknown.
struct WorkloadAt {
  static constexpr Eigen::Index kParallelism = 0;
  static constexpr Eigen::Index kSensitivity = 1;
  static constexpr Eigen::Index kPressure = 2;
  static constexpr Eigen::Index kSharingGain = 3;
  static constexpr Eigen::Index kCount = 4;
};

// How a workload differs in another campaign, where the job may have been another version,
// counted from the first offset.
struct OffsetAt {
  static constexpr Eigen::Index kSpeed = 0;        // delta: of its log speed
  static constexpr Eigen::Index kParallelism = 1;  // epsilon: of log k
  static constexpr Eigen::Index kWeight =
      2;  // zeta: of b; absent in solo runs, where it has no effect
  static constexpr Eigen::Index kCount = 3;
  static constexpr Eigen::Index kCountSolo = 2;
};

class LimitLayout {
 public:
  // Solo runs form a campaign of their own, the one without a name.
  using Campaign = std::optional<std::string>;

  // Unknowns for every workload of the rows, and offsets for those outside the reference campaign.
  LimitLayout(std::span<const dataset::GroupRow> groups,
              std::span<const dataset::LimitedRun> solo_runs,
              const std::string& reference_campaign);

  [[nodiscard]] Eigen::Index size() const { return size_; }
  [[nodiscard]] Eigen::Index workload(std::size_t profile) const { return workloads_.at(profile); }
  // Nothing in the reference campaign.
  [[nodiscard]] std::optional<Eigen::Index> offset(const Campaign& campaign,
                                                   std::size_t profile) const;

  // First unknown by profile.
  [[nodiscard]] const std::map<std::size_t, Eigen::Index>& workloads() const { return workloads_; }
  // First offset by campaign and profile.
  [[nodiscard]] const std::map<std::pair<Campaign, std::size_t>, Eigen::Index>& offsets() const {
    return offsets_;
  }

  static void store(const LimitPopulation& population, Eigen::VectorXd& x);
  void store(std::size_t profile, const LimitParameters& parameters, Eigen::VectorXd& x) const;
  [[nodiscard]] static LimitPopulation population(const Eigen::VectorXd& x,
                                                  const ShareSlopes& centre);
  [[nodiscard]] LimitParameters parameters(std::size_t profile, const Eigen::VectorXd& x) const;

 private:
  std::map<std::size_t, Eigen::Index> workloads_;
  std::map<std::pair<Campaign, std::size_t>, Eigen::Index> offsets_;
  Eigen::Index size_ = PopulationAt::kCount;
};

}  // namespace carpool::model
