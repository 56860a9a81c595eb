// Decides which job starts where. A pure function of the snapshot: no clock, no files, no memory of
// earlier calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster_snapshot.hpp"
#include "core/interference_model.hpp"

namespace carpool {

struct Placement {
  JobId job = 0;
  std::vector<unsigned> gpus{};  // GpuView::index
  ShareMechanism mechanism = ShareMechanism::None;
  double thread_limit = kAllThreads;
  std::uint64_t reserve_bytes = 0;
  std::optional<std::uint64_t> cap_bytes{};  // to enforce; empty: none
  std::optional<double> progress{};          // predicted share of its solo speed
  std::string reason{};
};

enum class Constraint {
  Memory,
  Interference,
  Latency,  // a job with an SLO would not keep it
  Exclusive,
  GpuCount,
  OtherUser,
  Order,
  NoGpu,
  Machine,
  Begin,      // its time has not come
  ArrayLimit  // enough jobs of its array run
};

struct Deferral {
  JobId job = 0;
  Constraint constraint = Constraint::NoGpu;
  std::string reason{};  // "GPU 1 has 30 GiB free; the job needs 82 GiB"
};

// Residents that are to stand still, or to go on. The scheduler refuses to pause a job of class
// slo, on several GPUs, or that is being stopped.
struct Pause {
  JobId job = 0;
  PauseCause cause = PauseCause::Turn;
  std::string reason{};
};
struct Resume {
  JobId job = 0;
  std::string reason{};
};

// When time alone may change who computes on a GPU.
struct TurnQuestion {
  std::size_t place = 0;  // in ClusterSnapshot::gpus
  double after_s = 0.0;   // seconds from now
};

struct PlacementDecision {
  std::vector<Placement> place{};
  std::vector<Deferral> defer{};  // of jobs that were considered
  std::vector<Pause> pause{};
  std::vector<Resume> resume{};
  std::optional<double> ask_again_s{};  // seconds from now, when time alone may change the answer
  // The part of ask_again_s that is due to single GPUs of ClusterSnapshot::turns_at.
  std::vector<TurnQuestion> turns_again{};
};

class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  PlacementPolicy(const PlacementPolicy&) = delete;
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;
  virtual ~PlacementPolicy() = default;

  // As `carpool policies` lists it.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Whether jobs on several GPUs may have neighbours.
  [[nodiscard]] virtual bool shares_several() const { return false; }

  // Each job of the queue that was considered is placed or deferred, exactly once. Placements that
  // break a rule of schedule/placement_guard.hpp are refused.
  [[nodiscard]] virtual PlacementDecision decide(const ClusterSnapshot& cluster,
                                                 const InterferenceModel& interference) const = 0;
};

}  // namespace carpool
