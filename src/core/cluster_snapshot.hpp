// All that a placement policy sees: the GPUs and the queue at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/group.hpp"
#include "core/job.hpp"
#include "core/latency.hpp"
#include "core/run.hpp"

namespace carpool {

// NVIDIA's limit of clients of one MPS server.
inline constexpr std::size_t kMostMpsClients = 48;

// A time that is not known.
inline constexpr double kNoTime = std::numeric_limits<double>::infinity();

enum class ResidentPhase {
  Starting,   // its processes run; none was seen on the GPU
  Computing,  // seen on the GPU
  Paused,
};

// A job on a GPU.
struct Resident {
  JobId job = 0;
  std::uint32_t uid = 0;
  std::string workload{};
  // Equal where the workloads of residents of one snapshot are equal; 0: not numbered. Policies
  // look at many residents and compare no names.
  std::uint32_t workload_number = 0;
  JobClass job_class = JobClass::Normal;
  LatencyGoal goal{};            // class Slo
  Gating gating = Gating::None;  // whether its launches wait for requests
  ShareMechanism mechanism = ShareMechanism::None;
  double thread_limit = kAllThreads;
  bool exclusive = false;
  bool several_gpus = false;
  std::uint64_t reserved_bytes = 0;  // until its own peak is known, then the peak
  std::uint64_t used_bytes = 0;      // now, as far as it is known
  std::uint64_t cap_bytes = 0;       // that is enforced; 0: none
  bool need_known = true;            // the reservation at its start was no guess
  double started_s = 0.0;
  ResidentPhase phase = ResidentPhase::Computing;
  double phase_since_s = 0.0;
  PauseCause paused_for = PauseCause::Turn;  // Paused
  unsigned pauses = 0;                       // so far
  double computed_s = 0.0;              // time since it was first seen on the GPU, without pauses
  std::optional<double> remaining_s{};  // at solo speed
  std::optional<double> sm_active{};    // as GpuObservation::JobSeen::sm_active
};

// Summary of the last window of samples, 0 to 1 (docs/placement.md).
struct GpuPressure {
  double sm_active = 0.0;
  double sm_occupancy = 0.0;
  double dram_active = 0.0;
};

struct GpuView {
  unsigned index = 0;
  std::string uuid{};
  std::string name{};  // "NVIDIA H200"; empty: not known
  std::uint64_t memory_bytes = 0;
  std::uint64_t used_bytes = 0;     // by all processes, now
  std::uint64_t foreign_bytes = 0;  // by processes that Carpool did not start
  bool foreign = false;             // such processes compute on it
  std::string unusable{};           // why nothing may be placed on it; empty: usable
  bool mps_possible = false;
  bool slo_outside_mps = false;           // a job with an SLO does without it (docs/gate.md)
  std::optional<GpuPressure> pressure{};  // empty: no full window yet
  // Time since the last job was placed here (1e18: never), and whether that job was seen on the GPU
  // since: for CARMA's availability rule.
  double since_placed_s = 1e18;
  bool last_seen_busy = true;
  double since_seen_busy_s = 1e18;
  std::vector<Resident> residents{};

  // Whether a job of this class runs under MPS where it shares the GPU.
  [[nodiscard]] bool shares_by_mps(JobClass job_class) const {
    return mps_possible && !(slo_outside_mps && job_class == JobClass::Slo);
  }
  // Memory that neither a reservation nor use claims.
  [[nodiscard]] std::uint64_t free_bytes() const;
  // Seconds until the last resident is expected to end, at solo speed; kNoTime: not known.
  [[nodiscard]] double empty_after_s() const;
};

[[nodiscard]] bool passes(const GpuFilter& filter, const GpuView& gpu);
// "GPU 0 or 1", "H200 GPUs", "H200 GPUs with index 0 or 1"; not of a filter that takes all.
[[nodiscard]] std::string filter_words(const GpuFilter& filter);

// Where the memory need of a job comes from.
enum class NeedBasis {
  Unknown,
  Told,       // by its owner
  Estimated,  // from its description
  Seen,       // the peak of runs that did not finish
  Finished,   // the peak of runs that did
  Failure,    // it ran out of memory
};

struct QueuedJob {
  JobId job = 0;
  std::uint32_t uid = 0;
  std::string workload{};
  JobClass job_class = JobClass::Normal;
  LatencyGoal goal{};            // class Slo
  Gating gating = Gating::None;  // whether its launches wait for requests
  int priority = 0;
  unsigned gpus = 1;
  GpuFilter gpu_filter{};
  bool exclusive = false;
  std::optional<std::uint64_t> need_bytes{};  // upper bound on each GPU; empty: unknown
  NeedBasis need_basis = NeedBasis::Unknown;
  std::optional<double> runtime_s{};  // at solo speed; empty: unknown
  double waited_s = 0.0;
  unsigned failures = 0;  // out-of-memory ends so far
};

struct ClusterSnapshot {
  double now_s = 0.0;
  std::span<const GpuView> gpus{};
  std::span<const QueuedJob* const> queue{};  // jobs that may start now, in their order
  std::optional<double> processors_idle{};    // of the machine, 0 to 1; empty: unknown
  // Places in `gpus`, ascending: only there residents may be paused and resumed; empty: on all
  // GPUs. On the others nothing changed since the policy was last asked about them.
  std::optional<std::span<const std::size_t>> turns_at{};
};

// GPUs to reserve for the first job in line.
struct SoonestFree {
  std::vector<std::size_t> gpus{};
  double after_s = 0.0;  // when the last of them is free
};
// Of pairs of the seconds until a GPU is free and its number: the `count` that are free first.
// Empty: there are fewer.
[[nodiscard]] std::optional<SoonestFree> soonest_free(
    std::vector<std::pair<double, std::size_t>> gpus, std::size_t count);

}  // namespace carpool
