// `share`, the default model: proportional sharing whose parameters similar workloads have in
// common, fitted on measured groups (docs/model.md).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "model/limits/thread_limit_model.hpp"
#include "model/share/share_fit.hpp"
#include "model/share/workload_view.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

class ShareModel final : public ThroughputModel {
 public:
  // `limited` names the workloads that `limits` was fitted with, in its order.
  ShareModel(ModelCard card,
             ShareFit fit,
             ThreadLimitModel limits,
             std::vector<std::string> limited);

  [[nodiscard]] const ModelCard& card() const override { return card_; }
  [[nodiscard]] Result<std::unique_ptr<Forecaster>> bind(
      std::span<const Profile> profiles) const override;
  [[nodiscard]] nlohmann::json params() const override;

  // The parameters of each profile, for reports.
  [[nodiscard]] std::vector<WorkloadView> explain(std::span<const Profile> profiles) const;

 private:
  ModelCard card_;
  ShareFit fit_;
  ThreadLimitModel limits_;
  std::vector<std::string> limited_;
};

[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_share(const TrainingSet& training);
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> load_share(ModelCard card,
                                                                  const nlohmann::json& params);

}  // namespace carpool::model
