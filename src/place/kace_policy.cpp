#include <fmt/format.h>

#include "place/outlook.hpp"
#include "place/predicting_policies.hpp"
#include "place/queue_pass.hpp"

namespace carpool {
namespace {

class KaceChooser final : public Chooser {
 public:
  KaceChooser(Board& board, const CoRunModel& model) : outlooks_(board, model) {}

  Chosen choose(const Candidate& job, const QueuePass& pass) override {
    const auto& slots = pass.board().slots();
    std::optional<std::size_t> best;
    double best_gain = 0.0;
    for (const std::size_t i : pass.board().open()) {
      const bool room = slots[i].empty() ? pass.board().free_for_one(job, slots[i])
                                         : job.need_known && pass.board().fits(job, slots[i]);
      if (!room || !pass.open(job, slots[i])) {
        continue;
      }
      const Outlook& outlook = outlooks_.of(job.workload, i);
      if (outlook.gain > best_gain && !pass.held_against(job, slots[i], outlook.own)) {
        best = i;
        best_gain = outlook.gain;
      }
    }
    if (!best) {
      return tl::unexpected(pass.refuse(job));
    }
    return SlotChoice{
        .slots = {*best},
        .progress = outlooks_.of(job.workload, *best).own,
        .reason =
            fmt::format("adds {:.2f} to the sum of its GPU's speeds, the most of all", best_gain)};
  }

 private:
  Outlooks outlooks_;
};

class KacePolicy final : public PlacementPolicy {
 public:
  explicit KacePolicy(const PolicySettings& settings) : settings_(settings) {}

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const CoRunModel& co_run) const override {
    QueuePass pass(cluster, settings_);
    KaceChooser chooser(pass.board(), co_run);
    return pass.run(chooser);
  }

 private:
  PolicySettings settings_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_kace_policy(const PolicySettings& settings) {
  return std::make_unique<KacePolicy>(settings);
}

}  // namespace carpool
