#include <algorithm>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "policy/carpool_constants.hpp"
#include "policy/colocation_forecast.hpp"
#include "policy/group_turns.hpp"
#include "policy/latency_admission.hpp"
#include "policy/likely_gpus.hpp"
#include "policy/policy_table.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {
namespace {

// Seconds until all running and waiting jobs are done; kNoTime if some are not seen or a run time
// is not known.
double all_done_s(const ClusterSnapshot& cluster, const PolicySettings& settings) {
  const auto unknown = [](const QueuedJob* job) { return !job->runtime_s; };
  if (cluster.queue.size() > settings.depth || std::ranges::any_of(cluster.queue, unknown)) {
    return kNoTime;
  }
  double work = 0.0;
  double gpus = 0.0;
  for (const GpuView& gpu : cluster.gpus) {
    gpus += gpu.unusable.empty() ? 1.0 : 0.0;
    for (const Resident& resident : gpu.residents) {
      work += resident.remaining_s.value_or(kNoTime);
    }
    if (work == kNoTime) {
      return kNoTime;
    }
  }
  for (const QueuedJob* job : cluster.queue) {
    work += *job->runtime_s * static_cast<double>(job->gpus);
  }
  return gpus > 0.0 ? work / (gpus * kSharedSpeed) : kNoTime;
}

class CarpoolChooser final : public Chooser {
 public:
  CarpoolChooser(const ClusterSnapshot& cluster,
                 QueuePass& pass,
                 const InterferenceModel& model,
                 GroupSpeeds& speeds)
      : state_(pass.state()),
        model_(model),
        speeds_(speeds),
        forecasts_(pass.state(), speeds),
        likely_(pass.state(), pass.settings(), model),
        all_done_s_(all_done_s(cluster, pass.settings())),
        one_gpu_(pass.state().usable() == 1) {}

  // A job that takes as long as all others together would be the last to end.
  [[nodiscard]] bool urgent(const PendingJob& job) const override {
    return job.job->runtime_s && *job.job->runtime_s >= all_done_s_;
  }

  Chosen choose(const PendingJob& job, const QueuePass& pass) override {
    const auto empty = empty_slot(job, pass);
    const bool scarce = pass.behind() > pass.state().empty_slots();
    if (empty && !scarce) {
      return alone(job, pass, *empty);
    }
    if (!empty && pass.state().all_start()) {
      return tl::unexpected(
          Refusal{.constraint = Constraint::Machine,
                  .reason = fmt::format("{} jobs start up, as many as the processors of this "
                                        "machine start without delay",
                                        pass.state().starting())});
    }
    const Best best = look(job, pass);
    // Where empty GPUs are scarce, one is left for a job that needs it.
    if (best.unnoticed) {
      return join(job, pass, *best.unnoticed);
    }
    if (empty) {
      return alone(job, pass, *empty);
    }
    if (best.gaining) {
      return join(job, pass, *best.gaining);
    }
    if (best.bearable && pass.turn_has_come(job)) {
      return join(job, pass, *best.bearable);
    }
    if (best.ahead) {
      return start_ahead(job, pass, *best.ahead);
    }
    Refusal refusal = pass.refuse(job);
    if (refusal.constraint == Constraint::Interference && best.unpromised) {
      refusal = refuse_for_slo(speeds_, state_, job, pass.state().slots()[*best.unpromised]);
    }
    return tl::unexpected(std::move(refusal));
  }

 private:
  struct Best {
    std::optional<std::size_t> unnoticed{};   // hardly slows the members
    std::optional<std::size_t> gaining{};     // the sum of progress grows most
    std::optional<std::size_t> bearable{};    // all members keep the floor
    std::optional<std::size_t> ahead{};       // may start up there, and wait for its turn
    std::optional<std::size_t> unpromised{};  // only a latency target speaks against it
    double kept = kUnnoticed;
    double gain = 0.0;
    double worst = 0.0;
    std::size_t members = kMostMpsClients;  // of `ahead`
  };

  static std::optional<std::size_t> empty_slot(const PendingJob& job, const QueuePass& pass) {
    if (pass.state().empty_slots() == 0) {
      return std::nullopt;
    }
    const auto& open = pass.state().open();
    const auto found = std::ranges::find_if(open, [&](std::size_t i) {
      const Slot& slot = pass.state().slots()[i];
      return slot.empty() && pass.state().claim(job, slot) && pass.open(job, slot) &&
             !pass.held_against(job, slot, 1.0);
    });
    return found == open.end() ? std::nullopt : std::optional(*found);
  }

  // Among GPUs that run something.
  Best look(const PendingJob& job, const QueuePass& pass) {
    const auto& slots = pass.state().slots();
    Best best;
    best.gain = pass.settings().least_gain;
    std::size_t asked = 0;
    for (const std::size_t i : likely_.gpus()) {
      const Slot& slot = slots[i];
      if (slot.empty() || !pass.open(job, slot) || !pass.state().claim(job, slot)) {
        continue;
      }
      if (++asked > kMostAsked) {
        break;
      }
      const ColocationForecast forecast = forecasts_.of(job, i);
      if (!pass.held_against(job, slot, forecast.own)) {
        compare(job, pass, i, forecast, best);
      }
    }
    return best;
  }

  void compare(const PendingJob& job,
               const QueuePass& pass,
               std::size_t i,
               const ColocationForecast& forecast,
               Best& best) {
    const bool slo = job.job->job_class == JobClass::Slo;
    const bool above_floor = forecast.worst >= pass.settings().floor;
    const bool bearable = above_floor && forecast.worst_slo >= kSloFloor && forecast.keeps_slo;
    if (above_floor && !bearable && !best.unpromised) {
      best.unpromised = i;
    }
    const double least = std::min(forecast.kept, forecast.own);
    if (bearable && least >= best.kept) {
      best.kept = least;
      best.unnoticed = i;
    }
    if (bearable && forecast.gain >= best.gain) {
      best.gain = forecast.gain;
      best.gaining = i;
    }
    if (bearable && forecast.worst > best.worst) {
      best.worst = forecast.worst;
      best.bearable = i;
    }
    // It computes for a moment until it is paused: too long for a neighbour with a latency target.
    if (!best.gaining && !slo && forecast.worst_slo >= kSloFloor && forecast.keeps_slo &&
        pass.settings().take_turns) {
      const std::size_t members = pass.state().slots()[i].members();
      if (members < best.members && may_start_ahead(pass, i)) {
        best.members = members;
        best.ahead = i;
      }
    }
  }

  // Start-up needs no GPU time. The job is bound to this GPU from then on.
  bool may_start_ahead(const QueuePass& pass, std::size_t i) {
    const Slot& slot = pass.state().slots()[i];
    const bool soon =
        one_gpu_ || std::ranges::any_of(slot.view->residents, [](const Resident& resident) {
          return resident.phase == ResidentPhase::Computing &&
                 resident.remaining_s.value_or(kNoTime) <= kEndsSoonS;
        });
    if (!soon) {
      return false;
    }
    const std::size_t useful =
        forecasts_.useful_members(i, pass.settings().turn_gain, pass.settings().floor);
    return slot.members() < kMembersPerUseful * useful + kSpareAhead;
  }

  static std::string memory_text(const PendingJob& job, const QueuePass& pass, const Slot& slot) {
    const auto claim = pass.state().claim(job, slot);
    if (job.need_known || !claim || !pass.settings().use_caps) {
      return "";
    }
    return claim->cap_bytes
               ? fmt::format("; memory need unknown, capped at {}", gib_text(*claim->cap_bytes))
               : fmt::format("; memory need unknown, {} reserved", gib_text(claim->reserve_bytes));
  }

  static SlotChoice alone(const PendingJob& job, const QueuePass& pass, std::size_t index) {
    return {.slots = {index},
            .progress = 1.0,
            .reason = "on an empty GPU" + memory_text(job, pass, pass.state().slots()[index])};
  }

  // With the thread limit that serves all members best, where the model knows limits.
  SlotChoice join(const PendingJob& job, const QueuePass& pass, std::size_t index) {
    const Slot& slot = pass.state().slots()[index];
    SlotChoice choice{.slots = {index}, .progress = forecasts_.of(job, index).own};
    if (model_.knows_limits() && pass.state().mechanism(job, slot) == ShareMechanism::Mps) {
      choose_thread_limit(job, pass, slot, choice);
    }
    choice.reason =
        fmt::format("shares GPU {} with {} {}: predicted {:.0f} % of its solo speed{}{}",
                    slot.view->index,
                    slot.members(),
                    slot.members() == 1 ? "other" : "others",
                    100.0 * *choice.progress,
                    latency_text(speeds_, state_, job, slot),
                    memory_text(job, pass, slot));
    return choice;
  }

  SlotChoice start_ahead(const PendingJob& job, const QueuePass& pass, std::size_t index) {
    const Slot& slot = pass.state().slots()[index];
    return {.slots = {index},
            .progress = forecasts_.of(job, index).own,
            .reason = fmt::format("starts up beside {} {} and waits for its turn on GPU {}{}",
                                  slot.members(),
                                  slot.members() == 1 ? "other" : "others",
                                  slot.view->index,
                                  memory_text(job, pass, slot))};
  }

  void choose_thread_limit(const PendingJob& job,
                           const QueuePass& pass,
                           const Slot& slot,
                           SlotChoice& choice) const {
    std::vector<InterferenceMember> members;
    members.reserve(slot.members() + 1);
    for (std::size_t i = 0; i < slot.view->residents.size(); ++i) {
      const Resident& resident = slot.view->residents[i];
      if (!slot.stands_still(i)) {
        members.push_back({.workload = resident.workload, .thread_limit = resident.thread_limit});
      }
    }
    for (const PendingJob& added : slot.added) {
      members.push_back({.workload = added.job->workload, .thread_limit = added.thread_limit});
    }
    members.push_back({.workload = job.job->workload});
    double best = 0.0;
    const auto consider = [&](double limit) {
      members.back().thread_limit = limit;
      const std::vector<double> shares = model_.progress(members);
      double sum = 0.0;
      for (const double share : shares) {
        sum += share;
      }
      if (*std::ranges::min_element(shares) >= pass.settings().floor && sum > best) {
        best = sum;
        choice.thread_limit = limit;
        choice.progress = shares.back();
      }
    };
    consider(kAllThreads);
    std::ranges::for_each(kThreadLimits, consider);
  }

  PlacementState& state_;
  const InterferenceModel& model_;
  GroupSpeeds& speeds_;
  ColocationForecasts forecasts_;
  LikelyGpus likely_;
  double all_done_s_;
  bool one_gpu_;  // that is usable
};

class CarpoolPolicy final : public PassPolicy {
 public:
  explicit CarpoolPolicy(const PolicySettings& settings) : PassPolicy(settings) {}

  [[nodiscard]] std::string_view name() const override { return "carpool"; }

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& interference) const override {
    QueuePass pass(cluster, settings());
    GroupSpeeds speeds(pass.state(), interference);
    PlacementDecision turns;
    if (settings().take_turns) {
      decide_turns(cluster, settings(), pass.state(), speeds, turns);
    }
    CarpoolChooser chooser(cluster, pass, interference, speeds);
    PlacementDecision decision = pass.run(chooser);
    decision.pause = std::move(turns.pause);
    decision.resume = std::move(turns.resume);
    decision.turns_again = std::move(turns.turns_again);
    if (turns.ask_again_s) {
      decision.ask_again_s =
          std::min(decision.ask_again_s.value_or(*turns.ask_again_s), *turns.ask_again_s);
    }
    return decision;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_carpool_policy(const PolicySettings& settings) {
  return std::make_unique<CarpoolPolicy>(settings);
}

}  // namespace carpool::policy
