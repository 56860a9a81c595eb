// Interference from a fitted model and profiles; workloads without a profile by their activity.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "core/profile.hpp"
#include "core/workload_identity.hpp"
#include "knowledge/activity_interference.hpp"
#include "model/throughput_model.hpp"
#include "predict/predictor.hpp"

namespace carpool::knowledge {

class ModelInterference final : public InterferenceModel {
 public:
  // Fails where the model does not predict each member, or a profile lacks a metric of the model.
  [[nodiscard]] static Result<std::unique_ptr<ModelInterference>> create(
      std::shared_ptr<const model::ThroughputModel> model, std::vector<Profile> profiles);

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override;
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return by_name_.contains(workload_name(workload));
  }
  [[nodiscard]] bool knows_limits() const override { return knows_limits_; }

 private:
  ModelInterference() = default;
  [[nodiscard]] std::vector<double> ask(const Group& group) const;

  std::shared_ptr<const model::ThroughputModel> model_;
  std::vector<Profile> profiles_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::unique_ptr<predict::Predictor> predictor_;
  std::unique_ptr<ActivityInterference> by_activity_;
  bool knows_limits_ = false;
};

}  // namespace carpool::knowledge
