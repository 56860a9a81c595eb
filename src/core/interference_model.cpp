#include "core/interference_model.hpp"

#include <algorithm>
#include <map>

namespace carpool {
namespace {

// For models without a faster way: each group is predicted once.
class RememberedInterference final : public BoundInterference {
 public:
  RememberedInterference(const InterferenceModel& model, std::span<const std::string> workloads)
      : model_(model), workloads_(workloads.begin(), workloads.end()) {}

  void add(const std::string& workload) override { workloads_.push_back(workload); }

  void progress(std::span<const std::uint32_t> group, std::span<double> out) override {
    key_.assign(group.begin(), group.end());
    auto found = known_.find(key_);
    if (found == known_.end()) {
      std::vector<InterferenceMember> members;
      for (const std::uint32_t workload : group) {
        members.push_back({.workload = workloads_[workload]});
      }
      found = known_.emplace(key_, model_.progress(members)).first;
    }
    std::ranges::copy(found->second, out.begin());
  }

 private:
  const InterferenceModel& model_;
  std::vector<std::string> workloads_;
  std::vector<std::uint32_t> key_;
  std::map<std::vector<std::uint32_t>, std::vector<double>> known_;
};

}  // namespace

std::unique_ptr<BoundInterference> InterferenceModel::bind(
    std::span<const std::string> workloads) const {
  return std::make_unique<RememberedInterference>(*this, workloads);
}

std::vector<ProgressForecast> InterferenceModel::forecast(
    std::span<const InterferenceMember> group) const {
  std::vector<ProgressForecast> made;
  for (const double share : progress(group)) {
    made.push_back({.progress = share, .basis = ProgressForecast::Basis::Members});
  }
  return made;
}

std::optional<LatencyForecast> InterferenceModel::latency(
    const LatencyQuestion& /*question*/) const {
  return std::nullopt;
}

std::optional<WatchedLatency> InterferenceModel::watched_latency(JobId /*job*/) const {
  return std::nullopt;
}

std::optional<WorkloadBelief> InterferenceModel::belief(const std::string& /*workload*/) const {
  return std::nullopt;
}

}  // namespace carpool
