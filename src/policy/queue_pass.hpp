// One look at the queue from its head, the same for all policies: who may go anywhere at all, jobs
// that want GPUs for themselves, holding GPUs for one that must wait. What a policy adds is the
// choice among GPUs.
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
  bool by_run_time = false;  // one that runs for another time might not be refused
};

using Chosen = tl::expected<SlotChoice, Refusal>;

class QueuePass;

class Chooser {
 public:
  Chooser() = default;
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;
  virtual ~Chooser() = default;

  // For a job that may share; as many slots as it wants GPUs.
  [[nodiscard]] virtual Chosen choose(const Candidate& job, const QueuePass& pass) = 0;
  // Whether this job is to be looked at before all others.
  [[nodiscard]] virtual bool urgent(const Candidate& /*job*/) const { return false; }
};

class QueuePass {
 public:
  QueuePass(const ClusterSnapshot& cluster, const PolicySettings& settings)
      : settings_(settings), state_(cluster, settings) {}

  [[nodiscard]] PlacementDecision run(Chooser& chooser);

  [[nodiscard]] const PolicySettings& settings() const { return settings_; }
  [[nodiscard]] const PlacementState& state() const { return state_; }
  [[nodiscard]] PlacementState& state() { return state_; }
  // Grows when a job was placed or GPUs were held: until then the state is as it was.
  [[nodiscard]] std::size_t changes() const { return changes_; }
  // Jobs of the queue that come after the one being looked at.
  [[nodiscard]] std::size_t behind() const { return behind_; }

  // Whether this slot may be considered at all for a job that shares: usable, open, room for one
  // more, users agree. Memory and preconditions apart.
  [[nodiscard]] bool open(const Candidate& job, const Slot& slot) const {
    return state_.has_room(slot) && state_.users_agree(job, slot);
  }
  // A held GPU takes only who is gone before it is needed.
  [[nodiscard]] bool held_against(const Candidate& job, const Slot& slot, double progress) const;

  // Why no GPU takes it, by what most nearly did.
  [[nodiscard]] Refusal refuse(const Candidate& job) const;

 private:
  // Jobs that nothing tells apart: what refused one refuses all that follow.
  using Kind = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, unsigned, bool, int, int>;

  [[nodiscard]] static Kind kind_of(const Candidate& job, bool by_run_time);
  [[nodiscard]] const Refusal* refused_before(const Candidate& job) const;
  [[nodiscard]] Chosen alone(const Candidate& job) const;
  [[nodiscard]] Chosen consider(const Candidate& job, Chooser& chooser) const;
  [[nodiscard]] std::vector<std::size_t> order(const Chooser& chooser) const;
  void place(const Candidate& job, const SlotChoice& choice, PlacementDecision& decision);
  void hold_for(const Candidate& job, Constraint constraint);

  const PolicySettings& settings_;
  PlacementState state_;
  std::size_t behind_ = 0;
  std::size_t changes_ = 0;
  std::map<Kind, Refusal> refused_;
  std::optional<JobId> held_for_;
  double held_until_s_ = kNoTime;
};

// "30.0 GiB".
[[nodiscard]] std::string gib_words(std::uint64_t bytes);

}  // namespace carpool::policy
