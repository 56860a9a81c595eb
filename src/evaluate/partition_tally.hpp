// Collects the results of protocol `mps-split`, over all campaigns and for each of them.
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

class PartitionTally {
 public:
  // An empty outcome is not counted.
  void add(const std::string& policy,
           const NamedObjective& objective,
           const std::string& campaign,
           const std::optional<PartitionOutcome>& outcome);

  [[nodiscard]] std::vector<PartitionResult> results() const;

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

  [[nodiscard]] std::vector<PartitionAccuracy> results() const;

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
