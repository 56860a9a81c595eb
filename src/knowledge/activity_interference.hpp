// Interference from the solo SM activity of the members.
#pragma once

#include <map>
#include <string>

#include "core/interference_model.hpp"

namespace carpool::knowledge {

// Where the activities add up to more than one GPU, all members slow down in proportion. An unknown
// workload counts as kUnknownActivity, so that two of them may share a GPU and three may not.
class ActivityInterference final : public InterferenceModel {
 public:
  // By workload: solo SM activity, 0 to 1.
  explicit ActivityInterference(std::map<std::string, double> sm_active = {})
      : sm_active_(std::move(sm_active)) {}

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override;
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return sm_active(workload).has_value();
  }

 private:
  std::map<std::string, double> sm_active_;
};

}  // namespace carpool::knowledge
