// Reads and checks the files of PairTable. Internal to knowledge/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "knowledge/pairs/pair_fit.hpp"

namespace carpool::knowledge {

struct PairFiles {
  struct Known {
    std::vector<std::string> names{};  // of AEGIS and CARMA
    std::string family{};
    double sm_active = 0.0;
  };
  // A measured workload of the same family.
  struct Kin {
    std::size_t index = 0;  // into `measured`
    bool same = false;      // the workload itself
    double sensitivity_ratio = 1.0;
  };

  std::vector<Known> workloads{};
  std::vector<std::string> measured{};         // pair_name() of workloads in pairs
  std::vector<PairCost> costs{};               // two per pair; indices into `measured`
  std::map<std::string, double> mean_speed{};  // over all pairs of a workload, by pair_name()
  std::map<std::string, double> activity{};    // by pair_name()
  std::map<std::string, std::string> family{};

  [[nodiscard]] double activity_of(const std::string& measured_name) const;
  [[nodiscard]] std::optional<Kin> kin_of(const Known& workload) const;
};

[[nodiscard]] Result<PairFiles> read_pair_files(const std::filesystem::path& folder);

}  // namespace carpool::knowledge
