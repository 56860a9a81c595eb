#include "model/limits/limit_layout.hpp"

namespace carpool::model {
namespace {

void store_slopes(const ShareSlopes& slopes, Eigen::Index at, Eigen::VectorXd& x) {
  x[at] = slopes.weight;
  x[at + 1] = slopes.headroom;
}

ShareSlopes slopes_at(Eigen::Index at, const Eigen::VectorXd& x) {
  return {.weight = x[at], .headroom = x[at + 1]};
}

}  // namespace

LimitLayout::LimitLayout(std::span<const dataset::GroupRow> groups,
                         std::span<const dataset::LimitedRun> solo_runs,
                         const std::string& reference_campaign) {
  for (const dataset::GroupRow& row : groups) {
    for (const GroupMember& member : row.members) {
      workloads_.emplace(member.profile, 0);
      if (row.campaign != reference_campaign) {
        offsets_.emplace(std::pair{Campaign(row.campaign), member.profile}, 0);
      }
    }
  }
  for (const dataset::LimitedRun& run : solo_runs) {
    workloads_.emplace(run.profile, 0);
    offsets_.emplace(std::pair{Campaign(), run.profile}, 0);
  }
  for (auto& [profile, first] : workloads_) {
    first = size_;
    size_ += WorkloadAt::kCount;
  }
  for (auto& [key, first] : offsets_) {
    first = size_;
    size_ += key.first ? OffsetAt::kCount : OffsetAt::kCountSolo;
  }
}

std::optional<Eigen::Index> LimitLayout::offset(const Campaign& campaign,
                                                std::size_t profile) const {
  const auto found = offsets_.find({campaign, profile});
  return found == offsets_.end() ? std::nullopt : std::optional(found->second);
}

void LimitLayout::store(const LimitPopulation& population, Eigen::VectorXd& x) {
  x[PopulationAt::kParallelism] = population.log_parallelism;
  store_slopes(population.parallelism, PopulationAt::kParallelismSlopes, x);
  x[PopulationAt::kContention] = population.log_contention;
  store_slopes(population.sensitivity, PopulationAt::kSensitivitySlopes, x);
  store_slopes(population.pressure, PopulationAt::kPressureSlopes, x);
  x[PopulationAt::kSharingGain] = population.sharing_gain;
}

void LimitLayout::store(std::size_t profile,
                        const LimitParameters& parameters,
                        Eigen::VectorXd& x) const {
  const Eigen::Index first = workload(profile);
  x[first + WorkloadAt::kParallelism] = parameters.log_parallelism;
  x[first + WorkloadAt::kSensitivity] = parameters.log_sensitivity;
  x[first + WorkloadAt::kPressure] = parameters.log_pressure;
  x[first + WorkloadAt::kSharingGain] = parameters.sharing_gain;
}

LimitPopulation LimitLayout::population(const Eigen::VectorXd& x, const ShareSlopes& centre) {
  return {.centre = centre,
          .log_parallelism = x[PopulationAt::kParallelism],
          .parallelism = slopes_at(PopulationAt::kParallelismSlopes, x),
          .log_contention = x[PopulationAt::kContention],
          .sensitivity = slopes_at(PopulationAt::kSensitivitySlopes, x),
          .pressure = slopes_at(PopulationAt::kPressureSlopes, x),
          .sharing_gain = x[PopulationAt::kSharingGain]};
}

LimitParameters LimitLayout::parameters(std::size_t profile, const Eigen::VectorXd& x) const {
  const Eigen::Index first = workload(profile);
  return {.log_parallelism = x[first + WorkloadAt::kParallelism],
          .log_sensitivity = x[first + WorkloadAt::kSensitivity],
          .log_pressure = x[first + WorkloadAt::kPressure],
          .sharing_gain = x[first + WorkloadAt::kSharingGain]};
}

}  // namespace carpool::model
