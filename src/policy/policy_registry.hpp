// The placement policies by name, and the settings that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/placement_policy.hpp"

namespace carpool::policy {

struct PolicySettings {
  // CARMA's preconditions, each off when empty.
  std::optional<double> sm_active_limit{};
  std::optional<double> sm_occupancy_limit{};
  std::optional<double> dram_active_limit{};
  std::optional<std::uint64_t> memory_floor_bytes{};  // required free memory where no need is known
  std::uint64_t memory_margin_bytes = 0;              // kept free in addition to every need
  double settle_s = 0.0;  // no further job on a GPU for this long after the last one was seen on it
  unsigned max_per_gpu = 4;
  bool use_mps = true;
  bool backfill = true;        // jobs behind one that must wait may start
  std::size_t depth = 200;     // jobs of the queue that are considered
  bool empty_first = false;    // the first empty GPU by index before any choice
  bool reserve = true;         // memory is reserved for a job until its own peak is known
  bool share_several = false;  // jobs on several GPUs may have neighbours, without MPS
  // GPUs are reserved for the first job that lacks room also where it is not known when they are
  // free.
  bool reserve_unknown = true;
  // A job under MPS gets its reservation as a cap, and may join others where its need is unknown.
  bool use_caps = false;
  bool caps_without_mps = false;  // caps are enforced there too, by the library of docs/shim.md

  // Of policies that predict (docs/placement.md).
  double floor = 0.3;          // least predicted progress of any member
  double least_gain = 0.03;    // least increase of the sum of progress by a new job
  bool take_turns = false;     // members are paused and resumed
  double turn_gain = 0.03;     // least increase of the sum by a member that is to compute
  double max_pause_s = 600.0;  // longest pause
  // Jobs that start up at the same time, on all GPUs together; 0: no limit. Imports and set-up keep
  // the processors busy: more of them at once end later, and none earlier.
  std::size_t max_starting = 0;
  // Waiting time after which a job may join though the sum of progress does not grow; empty: never.
  std::optional<double> refused_turn_s{};
};

struct PolicyInfo {
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const PolicyInfo> placement_policies();
[[nodiscard]] PolicySettings default_settings(std::string_view policy);
[[nodiscard]] Result<std::unique_ptr<PlacementPolicy>> make_placement_policy(
    std::string_view name, const PolicySettings& settings);

}  // namespace carpool::policy
