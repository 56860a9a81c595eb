// How fast jobs run together, from nothing but how busy each keeps the SMs alone.
#pragma once

#include <map>
#include <string>

#include "core/interference_model.hpp"

namespace carpool::knowledge {

// Where the demands add up to more than one GPU, everybody waits in proportion. A workload of which
// nothing is known counts as busier than most, so that two such may share a GPU and three may not.
class ActivityInterference final : public InterferenceModel {
 public:
  // By workload: share of the SMs that it keeps busy alone, 0 to 1.
  explicit ActivityInterference(std::map<std::string, double> sm_active = {})
      : sm_active_(std::move(sm_active)) {}

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override;
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return sm_active_.contains(workload);
  }

 private:
  std::map<std::string, double> sm_active_;
};

}  // namespace carpool::knowledge
