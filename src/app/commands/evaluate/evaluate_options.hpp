// Options of `carpool evaluate`, and its parts for thread limits and for larger groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command_context.hpp"

namespace carpool::app {

struct EvaluateOptions {
  std::optional<std::string> data;
  std::string protocol;                    // empty: pairs-n-occur, or file with --splits
  std::string table;                       // empty: that of the protocol
  std::optional<std::string> train_table;  // protocols transfer and larger-groups
  std::optional<std::string> test_data;    // protocol larger-groups
  bool unseen_members = false;             // protocol larger-groups
  std::optional<int> n_occur;
  std::optional<double> train_fraction;
  std::string seeds;
  std::string splits_file;
  std::vector<std::string> targets;
  std::vector<std::string> models;
  std::optional<std::string> objective;
  double floor = 0.7;
  std::string features = "default";
  std::uint64_t seed = 0;
  double time_budget_s = 60.0;
  bool per_target = false;
  bool ablation = false;
};

// Protocol mps-split: how near the chosen MPS partition comes to the best measured one.
[[nodiscard]] Result<void> run_mps_split(const EvaluateOptions& options,
                                         const CommandContext& context);

// Protocol larger-groups: trained on the small groups of one folder, tested on those of another.
[[nodiscard]] Result<void> run_larger_groups(const EvaluateOptions& options,
                                             const CommandContext& context);

}  // namespace carpool::app
