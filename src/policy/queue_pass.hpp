// One pass over the queue from its head, the same for all policies: which GPUs are open to a job,
// jobs that need empty GPUs, GPUs reserved for a job that must wait. A policy adds the choice among
// GPUs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <tl/expected.hpp>

#include "policy/placement_state.hpp"
#include "policy/policy_registry.hpp"

namespace carpool::policy {

struct SlotChoice {
  std::vector<std::size_t> slots{};
  double thread_limit = kAllThreads;
  std::optional<double> progress{};
  std::string reason{};
};

struct Refusal {
  Constraint constraint = Constraint::NoGpu;
  std::string reason{};
  bool by_run_time = false;  // a job with another run time might not be refused
};

using Chosen = tl::expected<SlotChoice, Refusal>;

class QueuePass;

class Chooser {
 public:
  Chooser() = default;
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;
  virtual ~Chooser() = default;

  // For a job that may share; as many slots as it requests GPUs.
  [[nodiscard]] virtual Chosen choose(const PendingJob& job, const QueuePass& pass) = 0;
  // Whether this job goes before all others.
  [[nodiscard]] virtual bool urgent(const PendingJob& /*job*/) const { return false; }
};

class QueuePass {
 public:
  QueuePass(const ClusterSnapshot& cluster, const PolicySettings& settings)
      : settings_(settings), state_(cluster, settings) {}

  [[nodiscard]] PlacementDecision run(Chooser& chooser);

  [[nodiscard]] const PolicySettings& settings() const { return settings_; }
  [[nodiscard]] const PlacementState& state() const { return state_; }
  [[nodiscard]] PlacementState& state() { return state_; }
  // Grows whenever a job is placed or GPUs are reserved: the state changed only if this did.
  [[nodiscard]] std::size_t changes() const { return changes_; }
  // Jobs of the queue behind the current one.
  [[nodiscard]] std::size_t behind() const { return behind_; }

  // Whether a job that shares may use this slot: usable, open, room for one more, users agree.
  // Memory and preconditions are not checked.
  [[nodiscard]] bool open(const PendingJob& job, const Slot& slot) const {
    return state_.has_room(slot) && state_.users_agree(job, slot);
  }
  // It has waited so long that it may join though the sum of progress does not grow.
  [[nodiscard]] bool turn_has_come(const PendingJob& job) const {
    return settings_.refused_turn_s && job.job->waited_s + kMoment >= *settings_.refused_turn_s;
  }
  // A reserved GPU takes only jobs that end before it is needed.
  [[nodiscard]] bool held_against(const PendingJob& job, const Slot& slot, double progress) const;

  // Why no GPU takes it: what the GPU with the most free memory lacks.
  [[nodiscard]] Refusal refuse(const PendingJob& job) const;

 private:
  // Jobs with equal kinds get equal answers: what refused one refuses all that follow.
  using Kind = std::
      tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t, unsigned, bool, bool, int>;

  [[nodiscard]] Kind kind_of(const PendingJob& job, bool by_run_time) const;
  [[nodiscard]] const Refusal* refused_before(const PendingJob& job) const;
  [[nodiscard]] Chosen alone(const PendingJob& job) const;
  [[nodiscard]] Chosen consider(const PendingJob& job, Chooser& chooser) const;
  [[nodiscard]] std::vector<std::size_t> order(const Chooser& chooser) const;
  [[nodiscard]] std::optional<Refusal> place_or_refuse(const PendingJob& job,
                                                       Chooser& chooser,
                                                       PlacementDecision& decision);
  void place(const PendingJob& job, const SlotChoice& choice, PlacementDecision& decision);
  void hold_for(const PendingJob& job, Constraint constraint);
  void ask_when_turn_comes(const PendingJob& job, PlacementDecision& decision) const;

  const PolicySettings& settings_;
  PlacementState state_;
  std::size_t behind_ = 0;
  std::size_t changes_ = 0;
  std::map<Kind, Refusal> refused_;
  std::optional<JobId> held_for_;
  double held_until_s_ = kNoTime;
};

// A policy that decides by such a pass.
class PassPolicy : public PlacementPolicy {
 public:
  explicit PassPolicy(const PolicySettings& settings) : settings_(settings) {}
  [[nodiscard]] bool shares_several() const override { return settings_.share_several; }

 protected:
  [[nodiscard]] const PolicySettings& settings() const { return settings_; }

 private:
  PolicySettings settings_;
};

}  // namespace carpool::policy
