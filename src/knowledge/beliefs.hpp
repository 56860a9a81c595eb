// What the server has learned of each workload while it ran: an interference model that starts with
// assumptions and is corrected by what is measured (docs/knowledge.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "core/learner.hpp"
#include "knowledge/belief_settings.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {

// Questions may come from any thread, also while another one teaches.
class Beliefs final : public InterferenceModel, public Learner {
 public:
  // `prior`: a model that knows workloads by their profile; may be null.
  explicit Beliefs(const BeliefSettings& settings = {},
                   std::unique_ptr<InterferenceModel> prior = nullptr);

  // Beliefs that save() wrote. A file that does not exist gives empty ones; a damaged one is an
  // error of kind Corrupt, and the caller may move it away.
  [[nodiscard]] static Result<std::unique_ptr<Beliefs>> open(
      const std::filesystem::path& file,
      const BeliefSettings& settings,
      std::unique_ptr<InterferenceModel> prior = nullptr);
  // Replaces the file as a whole or not at all.
  [[nodiscard]] Result<void> save(const std::filesystem::path& file) const;

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override;
  [[nodiscard]] std::vector<ProgressForecast> forecast(
      std::span<const InterferenceMember> group) const override;
  // Empty for a workload that neither ran nor has a profile: assumed_sm_active() then.
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] std::optional<WorkloadBelief> belief(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override;
  [[nodiscard]] bool knows_limits() const override;
  [[nodiscard]] std::optional<LatencyForecast> latency(
      const LatencyQuestion& question) const override;
  [[nodiscard]] std::optional<WatchedLatency> watched_latency(JobId job) const override;
  // Follows what is learned after it was made.
  [[nodiscard]] std::unique_ptr<BoundInterference> bind(
      std::span<const std::string> workloads) const override;
  [[nodiscard]] double assumed_sm_active(const std::string& workload) const;

  void saw(const GroupSeen& seen) override;
  void ended(const RunSeen& run) override;

  struct Beside {
    std::string workload{};
    ProgressForecast forecast{};  // of the row's workload beside it
  };
  // Requests of the row's workload, alone or in a group.
  struct Served {
    std::vector<LatencyNeighbour> beside{};
    bool mps = false;
    LatencyGoal goal{};  // under which it was measured
    LatencyForecast latency{};
    double at_s = 0.0;
  };
  struct Row {
    std::string workload{};
    WorkloadBelief belief{};
    std::string solo_unit{};            // of WorkloadBelief::solo_rate: steps, output, launches
    std::optional<double> runtime_s{};  // mean of the runs that succeeded, at solo speed
    std::optional<double> startup_s{};  // until it is seen on a GPU
    std::optional<std::uint64_t> peak_bytes{};
    double seen_at_s = 0.0;
    std::size_t runs = 0;          // that succeeded
    std::vector<Beside> beside{};  // measured pairs, newest first
    std::vector<Served> served{};  // alone first, then in groups, newest first
  };
  // Sorted by workload.
  [[nodiscard]] std::vector<Row> rows() const;

  // Over all users: how often a measured progress fell inside the 90 % interval that was predicted
  // when the group last changed.
  using Coverage = knowledge::Coverage;
  [[nodiscard]] Coverage coverage() const;
  // The same of the latency quantiles of jobs with an SLO.
  [[nodiscard]] Coverage latency_coverage() const;

 private:
  std::unique_ptr<InterferenceModel> prior_;
  mutable std::shared_mutex mutex_;
  BeliefStore store_;
  LiveGroups live_;
};

}  // namespace carpool::knowledge
