// Gathers what protocol `mps-split` sees, over all campaigns and for each by itself.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/forecast.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/partition_comparison.hpp"
#include "evaluate/partition_regret.hpp"

namespace carpool::evaluate {

class SplitTally {
 public:
  // Without an outcome there was nothing to choose, and nothing is counted.
  void add(const std::string& policy,
           const NamedObjective& objective,
           const std::string& campaign,
           const std::optional<SplitOutcome>& outcome);

  [[nodiscard]] std::vector<SplitResult> results() const;

 private:
  struct Entry {
    std::vector<double> regrets;
    std::size_t floor_missed = 0;
    bool has_floor = false;
  };
  // By campaign, objective and policy.
  std::map<std::tuple<std::string, std::string, std::string>, Entry> entries_;
};

class SpeedErrors {
 public:
  void add(const dataset::GroupRow& row, const GroupForecast& forecast);

  [[nodiscard]] std::vector<SplitAccuracy> results() const;

 private:
  struct Speeds {
    std::vector<double> predicted;
    std::vector<double> measured;
  };
  struct Entry {
    Speeds limited;
    Speeds unlimited;
  };
  std::map<std::string, Entry> entries_;  // by campaign
};

}  // namespace carpool::evaluate
