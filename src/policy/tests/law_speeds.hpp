// Interference by a law of SM activity, for tests: progress_i = 1 / (1 + sum over j of 1.5 a_j^2
// m_ij), with m = 1 unless a pair was planted.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/interference_model.hpp"

namespace carpool::policy {

class LawSpeeds final : public InterferenceModel {
 public:
  static constexpr double kPrior = 0.35;
  static constexpr double kStrength = 1.5;

  std::map<std::string, double> activity;
  std::map<std::pair<std::string, std::string>, double> planted;  // the first suffers by the second

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    std::vector<double> shares;
    for (std::size_t i = 0; i < group.size(); ++i) {
      double loss = 0.0;
      for (std::size_t j = 0; j < group.size(); ++j) {
        if (j != i) {
          const double a = sm_active(group[j].workload).value_or(kPrior);
          const auto pair = planted.find({group[i].workload, group[j].workload});
          loss += kStrength * a * a * (pair == planted.end() ? 1.0 : pair->second);
        }
      }
      shares.push_back(1.0 / (1.0 + loss));
    }
    return shares;
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override {
    const auto found = activity.find(workload);
    return found == activity.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return activity.contains(workload);
  }
};

}  // namespace carpool::policy
