#include <fmt/format.h>

#include "policy/colocation_forecast.hpp"
#include "policy/policy_table.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {
namespace {

class KaceChooser final : public Chooser {
 public:
  KaceChooser(PlacementState& state, const InterferenceModel& model)
      : speeds_(state, model), forecasts_(state, speeds_) {}

  Chosen choose(const PendingJob& job, const QueuePass& pass) override {
    const auto& slots = pass.state().slots();
    std::optional<std::size_t> best;
    double best_gain = 0.0;
    for (const std::size_t i : pass.state().open()) {
      if (!pass.open(job, slots[i]) || !pass.state().claim(job, slots[i])) {
        continue;
      }
      const ColocationForecast& forecast = forecasts_.of(job, i);
      if (forecast.gain > best_gain && !pass.held_against(job, slots[i], forecast.own)) {
        best = i;
        best_gain = forecast.gain;
      }
    }
    if (!best) {
      return tl::unexpected(pass.refuse(job));
    }
    return SlotChoice{
        .slots = {*best},
        .progress = forecasts_.of(job, *best).own,
        .reason = fmt::format("adds {:.2f} to the sum of speeds on its GPU, the most of all GPUs",
                              best_gain)};
  }

 private:
  GroupSpeeds speeds_;
  ColocationForecasts forecasts_;
};

class KacePolicy final : public PassPolicy {
 public:
  explicit KacePolicy(const PolicySettings& settings) : PassPolicy(settings) {}

  [[nodiscard]] std::string_view name() const override { return "kace"; }

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& interference) const override {
    QueuePass pass(cluster, settings());
    KaceChooser chooser(pass.state(), interference);
    return pass.run(chooser);
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_kace_policy(const PolicySettings& settings) {
  return std::make_unique<KacePolicy>(settings);
}

}  // namespace carpool::policy
