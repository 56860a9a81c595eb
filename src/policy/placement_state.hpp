// The GPUs while a decision goes on: what the snapshot says, and what was placed since. Workloads
// are numbers here, so that a decision about many jobs and GPUs compares no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/policy_registry.hpp"

namespace carpool::policy {

// A job of the queue with its workload as a number.
struct Candidate {
  const QueuedJob* job = nullptr;
  std::uint32_t workload = 0;
  std::uint64_t need_bytes = 0;  // with the guard
  bool need_known = false;
  double thread_limit = kAllThreads;  // once it is placed
};

struct Slot {
  const GpuView* view = nullptr;
  std::uint64_t free_bytes = 0;
  std::vector<Candidate> added{};  // by this decision
  std::uint32_t uid = 0;           // of those on it, if they have one in common
  bool one_user = true;
  bool closed = false;  // nobody else may come
  bool settled = true;  // as PolicySettings::settle_s asks
  bool held = false;    // for a job that could not start yet

  // A foreign process counts as one.
  [[nodiscard]] std::size_t members() const {
    return view->residents.size() + added.size() + (view->foreign ? 1 : 0);
  }
  [[nodiscard]] bool empty() const { return members() == 0; }
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
  // Those that may take anybody at all.
  [[nodiscard]] const std::vector<std::size_t>& open() const { return open_; }
  [[nodiscard]] const std::vector<Candidate>& queue() const { return queue_; }
  [[nodiscard]] std::size_t empty_slots() const { return empty_; }
  // When a GPU counts as settled again, at the earliest; empty: none is unsettled, or only an
  // observation can tell.
  [[nodiscard]] std::optional<double> next_settled_s() const { return next_settled_s_; }

  // Names by number: those of the queue, then those that group() has met.
  [[nodiscard]] const std::vector<std::string>& workloads() const { return workloads_; }
  // The workloads on a GPU: its residents, those added, a foreign process as one that nobody knows.
  [[nodiscard]] std::vector<std::uint32_t> group(const Slot& slot);

  // How a job would share this GPU.
  [[nodiscard]] ShareMechanism mechanism(const Candidate& job, const Slot& slot) const;
  // Whether its owner may be there beside those who are.
  [[nodiscard]] bool users_agree(const Candidate& job, const Slot& slot) const;
  [[nodiscard]] bool has_room(const Slot& slot) const {
    return slot.usable() && !slot.closed && slot.members() < most_;
  }
  [[nodiscard]] bool fits(const Candidate& job, const Slot& slot) const {
    return slot.free_bytes >= job.need_bytes;
  }
  // Free for a job that shares with nobody.
  [[nodiscard]] bool free_for_one(const Candidate& job, const Slot& slot) const;
  // What CARMA's preconditions ask: settled, below the limits of pressure.
  [[nodiscard]] bool precondition(const Slot& slot) const;

  void put(Candidate job, Slot& slot, ShareMechanism mechanism);

 private:
  [[nodiscard]] std::uint32_t number_of(const std::string& workload);
  void add_slot(const GpuView& view);

  const PolicySettings& settings_;
  std::size_t most_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> workloads_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> open_;
  std::vector<Candidate> queue_;
  std::size_t empty_ = 0;
  std::optional<double> next_settled_s_;
};

}  // namespace carpool::policy
