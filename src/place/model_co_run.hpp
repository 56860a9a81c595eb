// Speeds of groups by a fitted model bound to profiles; workloads without a profile by activity.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/profile.hpp"
#include "model/throughput_model.hpp"
#include "place/activity_co_run.hpp"
#include "place/co_run_model.hpp"
#include "predict/predictor.hpp"

namespace carpool {

class ModelCoRun final : public CoRunModel {
 public:
  // Fails where the model does not say how fast each member runs, or a profile lacks what it needs.
  [[nodiscard]] static Result<std::unique_ptr<ModelCoRun>> create(
      std::shared_ptr<const ThroughputModel> model, std::vector<Profile> profiles);

  [[nodiscard]] std::vector<double> progress(std::span<const CoRunMember> group) const override;
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return by_name_.contains(workload);
  }
  [[nodiscard]] bool knows_limits() const override { return knows_limits_; }

 private:
  ModelCoRun() = default;
  [[nodiscard]] std::vector<double> ask(const Group& group) const;

  std::shared_ptr<const ThroughputModel> model_;
  std::vector<Profile> profiles_;
  std::map<std::string, std::size_t> by_name_;
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<ActivityCoRun> by_activity_;
  bool knows_limits_ = false;
};

}  // namespace carpool
