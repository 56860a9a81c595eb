// The GPUs during a decision: the snapshot, and what was placed since. Workloads are numbers here,
// so that a decision about many jobs and GPUs compares no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "policy/policy_registry.hpp"

namespace carpool::policy {

// Times are sums of seconds: a time this near counts as reached.
inline constexpr double kMoment = 1e-3;

// A job of the queue, with its workload as a number.
struct PendingJob {
  const QueuedJob* job = nullptr;
  std::uint32_t workload = 0;
  std::uint32_t form = 0;        // equal where workload, class, latency goal and gate are
  std::uint32_t filter = 0;      // equal where the filters of GPUs are; 0: takes all
  std::uint64_t need_bytes = 0;  // with the margin
  bool need_known = false;
  double thread_limit = kAllThreads;  // once it is placed
};

// A member of the group that computes, or is about to, on a GPU.
struct ActiveMember {
  std::uint32_t workload = 0;
  bool slo = false;              // has a latency target
  Gating gating = Gating::None;  // whether its launches wait for requests
  bool mps = false;
  LatencyGoal goal{};
  JobId job = 0;  // 0: foreign processes
};

// Memory for a job on one GPU.
struct MemoryClaim {
  std::uint64_t reserve_bytes = 0;
  std::optional<std::uint64_t> cap_bytes{};
};

struct Slot {
  const GpuView* view = nullptr;
  std::uint64_t free_bytes = 0;
  // By resident: paused, once this decision is carried out. Empty: as the view says.
  std::vector<bool> still{};
  std::vector<PendingJob> added{};  // by this decision
  std::uint32_t uid = 0;            // of all members, if one_user
  bool one_user = true;
  bool slo = false;     // a member has a latency target
  bool closed = false;  // no further job may join
  bool settled = true;  // by PolicySettings::settle_s
  bool held = false;    // reserved for a job that cannot start yet

  // Foreign processes count as one member.
  [[nodiscard]] std::size_t members() const {
    return view->residents.size() + added.size() + (view->foreign ? 1 : 0);
  }
  [[nodiscard]] bool empty() const { return members() == 0; }
  [[nodiscard]] bool stands_still(std::size_t resident) const {
    return still.empty() ? view->residents[resident].phase == ResidentPhase::Paused
                         : still[resident];
  }
  void let_stand_still(std::size_t resident, bool paused);
  [[nodiscard]] bool usable() const { return view->unusable.empty(); }
  [[nodiscard]] double pressure() const { return view->pressure ? view->pressure->sm_active : 0.0; }
  // As GpuView::empty_after_s(), with the jobs that this decision added.
  [[nodiscard]] double empty_after_s() const;
  // Seconds until a job of this known need fits in, as residents end at solo speed.
  [[nodiscard]] double fits_after_s(std::uint64_t need_bytes) const;
};

class PlacementState {
 public:
  // Both outlive it.
  PlacementState(const ClusterSnapshot& cluster, const PolicySettings& settings);

  [[nodiscard]] std::vector<Slot>& slots() { return slots_; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  // Slots that may take a further job.
  [[nodiscard]] const std::vector<std::size_t>& open() const { return open_; }
  [[nodiscard]] const std::vector<PendingJob>& queue() const { return queue_; }
  [[nodiscard]] std::size_t empty_slots() const { return empty_; }
  [[nodiscard]] std::size_t usable() const { return usable_; }
  // Jobs that start up, on all GPUs, with those that this decision added.
  [[nodiscard]] std::size_t starting() const { return starting_; }
  // As many start up as the settings allow.
  [[nodiscard]] bool all_start() const;
  // Seconds until that may change though nothing happens.
  [[nodiscard]] double first_started_s() const { return first_started_s_; }
  // Seconds until the first unsettled GPU is settled; empty: there is none, or it depends on an
  // observation.
  [[nodiscard]] std::optional<double> next_settled_s() const { return next_settled_s_; }

  // Names by number: those of the queue, then those that number_of() added.
  [[nodiscard]] const std::vector<std::string>& workloads() const { return workloads_; }
  [[nodiscard]] std::uint32_t number_of(const std::string& workload);
  [[nodiscard]] std::uint32_t number_of(const Resident& resident);
  // Residents that are not paused, added jobs, foreign processes as one unknown workload.
  [[nodiscard]] std::vector<ActiveMember> group(const Slot& slot);
  [[nodiscard]] ActiveMember member(const Resident& resident);
  // As it would be a member of this slot.
  [[nodiscard]] ActiveMember member(const PendingJob& job, const Slot& slot) const;

  // How a job would share this GPU.
  [[nodiscard]] ShareMechanism mechanism(const PendingJob& job, const Slot& slot) const;
  // Whether something enforces the cap of a job that shares in this way.
  [[nodiscard]] bool has_caps(ShareMechanism mechanism) const {
    return mechanism == ShareMechanism::Mps ||
           (mechanism == ShareMechanism::TimeSlicing && settings_.caps_without_mps);
  }
  // Whether the job's owner may share with the owners of the members: under MPS and beside a job
  // with a latency target all are one user's.
  [[nodiscard]] bool users_agree(const PendingJob& job, const Slot& slot) const;
  [[nodiscard]] bool has_room(const Slot& slot) const {
    return slot.usable() && !slot.closed && slot.members() < most_;
  }
  [[nodiscard]] bool fits(const PendingJob& job, const Slot& slot) const {
    return slot.free_bytes >= job.need_bytes;
  }
  // What the job would reserve here, alone or beside the members; empty: it does not fit.
  [[nodiscard]] std::optional<MemoryClaim> claim(const PendingJob& job, const Slot& slot) const;
  // The least memory with which a job of unknown need starts beside others.
  [[nodiscard]] static std::uint64_t least_claim(const Slot& slot);
  // Another job of the queue was placed or refused.
  void considered(const PendingJob& job);
  // Whether the job may run on this GPU at all.
  [[nodiscard]] static bool wanted(const PendingJob& job, const Slot& slot) {
    return job.filter == 0 || passes(job.job->gpu_filter, *slot.view);
  }
  // Empty, usable and large enough for this job, which may run there.
  [[nodiscard]] bool free_for_one(const PendingJob& job, const Slot& slot) const;
  // CARMA's preconditions: settled, below the limits of pressure.
  [[nodiscard]] bool precondition(const Slot& slot) const;

  void put(PendingJob job, Slot& slot, ShareMechanism mechanism, const MemoryClaim& claim);

 private:
  [[nodiscard]] std::optional<MemoryClaim> claim_unknown(const PendingJob& job,
                                                         const Slot& slot) const;
  void count_start(const Resident& resident);
  void add_slot(const GpuView& view);
  [[nodiscard]] std::uint32_t number_of(const GpuFilter& filter);
  [[nodiscard]] std::uint32_t form_of(const PendingJob& job);

  const PolicySettings& settings_;
  std::size_t most_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> workloads_;
  std::map<GpuFilter, std::uint32_t> filters_;
  std::map<std::tuple<std::uint32_t, JobClass, LatencyGoal, Gating>, std::uint32_t> forms_;
  std::vector<std::uint32_t> resident_numbers_;  // by Resident::workload_number
  std::vector<Slot> slots_;
  std::vector<std::size_t> open_;
  std::vector<PendingJob> queue_;
  std::size_t empty_ = 0;
  std::size_t starting_ = 0;
  double first_started_s_ = kNoTime;
  double last_start_s_ = kNoTime;  // since the last of them started
  bool processors_idle_ = false;
  double now_s_ = 0.0;
  std::size_t usable_ = 0;
  std::size_t unknown_left_ = 0;  // jobs of unknown need that were not yet considered
  bool lone_ = false;             // the queue has one job, and no burst of jobs comes with it
  std::optional<double> next_settled_s_;
};

}  // namespace carpool::policy
