// Who starts where: a value in, a value out; no clock, no files, no memory of earlier calls except
// what the snapshot says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "place/cluster_snapshot.hpp"
#include "place/co_run_model.hpp"

namespace carpool {

struct Placement {
  JobId job = 0;
  std::vector<unsigned> gpus{};  // GpuView::index
  ShareMechanism mechanism = ShareMechanism::None;
  double thread_limit = kAllThreads;
  std::uint64_t reserve_bytes = 0;
  std::optional<double> progress{};  // predicted, of its speed alone
  std::string reason{};
};

enum class Constraint { Memory, Interference, Exclusive, GpuCount, OtherUser, Order, NoGpu };

struct Deferral {
  JobId job = 0;
  Constraint constraint = Constraint::NoGpu;
  std::string reason{};  // "GPU 1 has 30.0 GiB free, 82 GiB asked"
};

struct PlacementDecision {
  std::vector<Placement> place{};
  std::vector<Deferral> defer{};        // of those looked at
  std::optional<double> ask_again_s{};  // seconds from now, when time alone may change the answer
};

struct PolicySettings {
  // CARMA's preconditions, each off when empty.
  std::optional<double> sm_active_limit{};
  std::optional<double> sm_occupancy_limit{};
  std::optional<double> dram_active_limit{};
  std::optional<std::uint64_t> memory_floor_bytes{};  // free memory asked where no need is known
  std::uint64_t memory_guard_bytes = 0;               // kept free beside every need
  double settle_s = 0.0;  // no further job on a GPU for so long after the last one showed up
  unsigned max_per_gpu = 4;
  bool use_mps = true;
  bool backfill = true;        // jobs behind one that must wait may start
  std::size_t depth = 200;     // so many of the queue are looked at
  double floor = 0.3;          // no member is let below this share of its own speed by a prediction
  double least_gain = 0.03;    // that a newcomer must add to the sum of its GPU's members' shares
  bool empty_first = false;    // an empty GPU, the first by index, before any choice
  bool reserve = true;         // memory is kept for a job until its own peak is known
  bool share_several = false;  // jobs on several GPUs may have neighbours, without MPS
};

class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  PlacementPolicy(const PlacementPolicy&) = delete;
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;
  virtual ~PlacementPolicy() = default;

  // Each job of the snapshot's queue that was looked at is placed or deferred, exactly once.
  [[nodiscard]] virtual PlacementDecision decide(const ClusterSnapshot& cluster,
                                                 const CoRunModel& co_run) const = 0;
};

struct PolicyInfo {
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const PolicyInfo> placement_policies();
[[nodiscard]] PolicySettings default_settings(std::string_view policy);
[[nodiscard]] Result<std::unique_ptr<PlacementPolicy>> make_placement_policy(
    std::string_view name, const PolicySettings& settings);

}  // namespace carpool
