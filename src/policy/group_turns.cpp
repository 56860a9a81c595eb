#include "policy/group_turns.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "policy/carpool_constants.hpp"
#include "policy/computing_group.hpp"

namespace carpool::policy {
namespace {

// The turns on one GPU.
class GpuTurns {
 public:
  GpuTurns(const PolicySettings& settings,
           double now_s,
           PlacementState& state,
           std::size_t place,
           GroupSpeeds& speeds,
           PlacementDecision& decision)
      : settings_(settings),
        now_s_(now_s),
        place_(place),
        slot_(state.slots()[place]),
        decision_(decision),
        changes_before_(decision.pause.size() + decision.resume.size()),
        group_(state, slot_, speeds, settings.floor),
        computing_(group_.residents()) {}

  void decide() {
    sort_residents();
    let_overdue_compute();
    for (const std::size_t at : candidates()) {
      if (resident(at).phase == ResidentPhase::Paused) {
        resume_if_useful(at);
      } else {
        pause_unless_useful(at);
      }
    }
    if (decision_.pause.size() + decision_.resume.size() == changes_before_) {
      relieve();
    }
    ask_again();
  }

 private:
  [[nodiscard]] const Resident& resident(std::size_t at) const { return slot_.view->residents[at]; }
  [[nodiscard]] double age_s(std::size_t at) const { return now_s_ - resident(at).phase_since_s; }
  [[nodiscard]] double computed_s(std::size_t at) const {
    return std::max(resident(at).computed_s, age_s(at));
  }
  [[nodiscard]] bool movable(std::size_t at) const {
    return resident(at).job_class != JobClass::Slo && !resident(at).several_gpus;
  }
  [[nodiscard]] bool sets_up(std::size_t at) const {
    return resident(at).phase == ResidentPhase::Computing && resident(at).pauses == 0 &&
           age_s(at) + kMoment < kSetUpS;
  }
  // After a resume it computes for a while in any case.
  [[nodiscard]] bool may_pause(std::size_t at) const {
    return movable(at) && !overdue(at) &&
           (resident(at).pauses == 0 || age_s(at) + kMoment >= kAfterResumeS);
  }
  // It was paused for too long; it is being resumed.
  [[nodiscard]] bool overdue(std::size_t at) const {
    return resident(at).phase == ResidentPhase::Paused;
  }

  void sort_residents() {
    for (std::size_t at = 0; at < slot_.view->residents.size(); ++at) {
      const Resident& one = resident(at);
      if (one.phase == ResidentPhase::Starting) {
        continue;
      }
      changed_s_ = std::min(changed_s_, age_s(at));
      if (movable(at) && sets_up(at)) {
        set_up_s_ = std::min(set_up_s_, kSetUpS - age_s(at));
      } else if (one.phase == ResidentPhase::Paused) {
        // The scheduler ends pauses for memory.
        if (one.paused_for != PauseCause::Memory) {
          waiting_.push_back(at);
        }
      } else if (movable(at) && one.pauses == 0 && age_s(at) < kFreshS) {
        fresh_.push_back(at);
      } else {
        computing_.push_back(at);
      }
    }
    // From the one that has computed longest to the newest.
    std::ranges::sort(computing_, {}, [&](std::size_t at) {
      return std::tuple(-computed_s(at), resident(at).started_s, resident(at).job);
    });
  }

  // Those that compute or stand still by this decision: who came or was paused first is first, then
  // those that were paused for interference.
  [[nodiscard]] std::vector<std::size_t> candidates() const {
    std::vector<std::size_t> all = fresh_;
    all.insert(all.end(), waiting_.begin(), waiting_.end());
    std::ranges::sort(all, {}, [&](std::size_t at) {
      const Resident& one = resident(at);
      const bool paused = one.phase == ResidentPhase::Paused;
      return std::tuple(paused && one.paused_for == PauseCause::Interference,
                        one.phase_since_s,
                        paused,
                        one.started_s,
                        one.job);
    });
    return all;
  }

  void pause(std::size_t at, PauseCause cause, std::string reason) {
    slot_.let_stand_still(at, true);
    decision_.pause.push_back(
        {.job = resident(at).job, .cause = cause, .reason = std::move(reason)});
  }

  void resume(std::size_t at, std::string reason) {
    slot_.let_stand_still(at, false);
    decision_.resume.push_back({.job = resident(at).job, .reason = std::move(reason)});
  }

  // Each takes the turn of the newest member that may be paused, where there are too many.
  void let_overdue_compute() {
    std::vector<std::size_t> due;
    std::erase_if(waiting_, [&](std::size_t at) {
      const bool now = age_s(at) + kMoment >= settings_.max_pause_s;
      if (now) {
        due.push_back(at);
      }
      return now;
    });
    for (const std::size_t at : due) {
      resume(at,
             fmt::format("it was paused for {:.0f} s, the longest pause", settings_.max_pause_s));
      computing_.insert(computing_.begin(), at);
      take_turn_for(at);
    }
  }

  void take_turn_for(std::size_t overdue) {
    for (std::size_t i = computing_.size(); i-- > 0;) {
      if (!may_pause(computing_[i])) {
        continue;
      }
      const GroupProgress with = group_.progress();
      if (with.sum < group_.progress(i).sum + settings_.turn_gain || !with.keeps(settings_.floor)) {
        pause(computing_[i],
              PauseCause::Turn,
              fmt::format("its turn on GPU {} goes to job {}, which was paused for {:.0f} s",
                          slot_.view->index,
                          resident(overdue).job,
                          settings_.max_pause_s));
        computing_.erase(computing_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return;
    }
  }

  void resume_if_useful(std::size_t at) {
    const bool interfered = resident(at).paused_for == PauseCause::Interference;
    if (interfered && !computing_.empty() && age_s(at) + kMoment < kBetweenPausesS) {
      return;
    }
    if (group_.join(at, interfered ? settings_.least_gain : settings_.turn_gain)) {
      resume(at,
             computing_.size() == 1
                 ? fmt::format("no other job computes on GPU {}", slot_.view->index)
                 : fmt::format("it has its turn on GPU {} beside {} others",
                               slot_.view->index,
                               computing_.size() - 1));
    }
  }

  void pause_unless_useful(std::size_t at) {
    if (group_.join(at, settings_.turn_gain)) {
      return;
    }
    pause(at,
          PauseCause::Turn,
          fmt::format("waits for its turn on GPU {}, where {} {}; goes on after {:.0f} s at the "
                      "latest",
                      slot_.view->index,
                      computing_.size(),
                      computing_.size() == 1 ? "job computes" : "jobs compute",
                      settings_.max_pause_s));
  }

  // Undoes a co-location that turned out worse than it was thought: pauses the newest member
  // without which the others do more, or fewer are below their floor.
  void relieve() {
    if (computing_.size() < 2 || changed_s_ + kMoment < kSettleS || paused_lately()) {
      return;
    }
    const GroupProgress with = group_.progress();
    const std::size_t below = group_.below_floor(with);
    if (below == 0 && with.sum * kWorseBy > static_cast<double>(with.shares.size()) - 1.0) {
      return;  // no group of fewer members does more
    }
    for (std::size_t i = computing_.size(); i-- > 0;) {
      if (!may_pause(computing_[i])) {
        continue;
      }
      const GroupProgress without = group_.progress(i);
      if (without.sum >= with.sum * kWorseBy || with.sum < kTakingTurns ||
          group_.below_floor(without, i) < below) {
        pause(computing_[i], PauseCause::Interference, why_relieved(with, without));
        return;
      }
    }
  }

  [[nodiscard]] std::string why_relieved(const GroupProgress& with,
                                         const GroupProgress& without) const {
    const std::string what =
        with.broken() > without.broken()
            ? fmt::format("a job on GPU {} does not keep its SLO beside it", slot_.view->index)
            : fmt::format(
                  "the jobs on GPU {} run at {:.2f} times the speed of one with it, at "
                  "{:.2f} times without it",
                  slot_.view->index,
                  with.sum,
                  without.sum);
    return fmt::format("{}; goes on after {:.0f} s at the latest", what, settings_.max_pause_s);
  }

  [[nodiscard]] bool paused_lately() const {
    return std::ranges::any_of(waiting_, [&](std::size_t at) {
      return resident(at).paused_for == PauseCause::Interference &&
             age_s(at) + kMoment < kBetweenPausesS;
    });
  }

  void ask_in(double left_s) {
    if (left_s > kMoment) {
      again_s_ = std::min(again_s_, left_s);
    }
  }

  void ask_again() {
    for (std::size_t at = 0; at < slot_.view->residents.size(); ++at) {
      const Resident& one = resident(at);
      if (one.phase == ResidentPhase::Computing && slot_.stands_still(at)) {
        ask_in(settings_.max_pause_s);
      } else if (one.phase == ResidentPhase::Computing && one.pauses > 0 && computing_.size() > 1) {
        ask_in(kAfterResumeS - age_s(at));
      }
    }
    for (const std::size_t at : waiting_) {
      if (slot_.stands_still(at)) {
        ask_in(settings_.max_pause_s - age_s(at));
        ask_in(resident(at).paused_for == PauseCause::Interference ? kBetweenPausesS - age_s(at)
                                                                   : 0.0);
      }
    }
    if (set_up_s_ < kNoTime) {
      ask_in(set_up_s_ + kMoment);
    }
    if (changed_s_ < kWatchedS && computing_.size() > 1) {
      ask_in((std::floor(now_s_ / kLookAgainS) + 1.0) * kLookAgainS - now_s_);
    }
    if (again_s_ < kNoTime) {
      decision_.ask_again_s = std::min(decision_.ask_again_s.value_or(again_s_), again_s_);
      decision_.turns_again.push_back({.place = place_, .after_s = again_s_});
    }
  }

  const PolicySettings& settings_;
  double now_s_;
  std::size_t place_;
  Slot& slot_;
  PlacementDecision& decision_;
  std::size_t changes_before_;
  ComputingGroup group_;
  // Residents by number.
  std::vector<std::size_t>& computing_;
  std::vector<std::size_t> fresh_;
  std::vector<std::size_t> waiting_;
  double changed_s_ = kNoTime;  // since the group changed
  double set_up_s_ = kNoTime;   // until the first member has set up
  double again_s_ = kNoTime;    // until time alone may change the answer
};

// Nothing to decide: no member stands still, and at most one computes.
bool at_rest(const GpuView& view) {
  std::size_t computing = 0;
  for (const Resident& resident : view.residents) {
    if (resident.phase == ResidentPhase::Paused && resident.paused_for != PauseCause::Memory) {
      return false;
    }
    computing += resident.phase == ResidentPhase::Computing ? 1 : 0;
  }
  return computing < 2;
}

}  // namespace

void decide_turns(const ClusterSnapshot& cluster,
                  const PolicySettings& settings,
                  PlacementState& state,
                  GroupSpeeds& speeds,
                  PlacementDecision& decision) {
  const auto decide_at = [&](std::size_t place) {
    if (!at_rest(cluster.gpus[place])) {
      GpuTurns(settings, cluster.now_s, state, place, speeds, decision).decide();
    }
  };
  if (cluster.turns_at) {
    std::ranges::for_each(*cluster.turns_at, decide_at);
    return;
  }
  for (std::size_t place = 0; place < cluster.gpus.size(); ++place) {
    decide_at(place);
  }
}

}  // namespace carpool::policy
