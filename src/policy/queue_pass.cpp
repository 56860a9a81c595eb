#include "policy/queue_pass.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "policy/carpool_constants.hpp"

namespace carpool::policy {
namespace {

// Run times within a tenth count as equal.
constexpr double kAlike = 1.1;

bool needs_empty_gpus(const PendingJob& job, const PolicySettings& settings) {
  return job.job->exclusive || (job.job->gpus > 1 && !settings.share_several);
}

// The member of a closed slot that shares with none.
JobId owner_of(const Slot& slot) {
  const auto found = std::ranges::find_if(slot.view->residents, [](const Resident& resident) {
    return resident.exclusive || resident.mechanism == ShareMechanism::None ||
           resident.several_gpus;
  });
  return found != slot.view->residents.end() ? found->job : slot.added.back().job->job;
}

// Where a GPU that the job could use is closed.
std::optional<Refusal> refuse_closed(const PendingJob& job, const std::vector<Slot>& slots) {
  const auto closed = [&](const Slot& slot) {
    return slot.closed && slot.usable() && PlacementState::wanted(job, slot);
  };
  const auto first = std::ranges::find_if(slots, closed);
  if (first == slots.end()) {
    return std::nullopt;
  }
  const auto others = std::ranges::count_if(slots, closed) - 1;
  return Refusal{
      .constraint = Constraint::Exclusive,
      .reason = fmt::format("job {} has GPU {} to itself{}",
                            owner_of(*first),
                            first->view->index,
                            others == 0 ? ""
                                        : fmt::format("; {} other GPU{} taken in the same way",
                                                      others,
                                                      others == 1 ? " is" : "s are"))};
}

Refusal refuse_full(const PendingJob& job) {
  return {.constraint = Constraint::NoGpu,
          .reason = job.filter == 0 ? "all GPUs are full or not usable"
                                    : fmt::format("the job runs on {} only: full or not usable",
                                                  filter_words(job.job->gpu_filter))};
}

Refusal refuse_unknown(const PendingJob& job, const Slot& roomiest, const PlacementState& state) {
  if (state.mechanism(job, roomiest) != ShareMechanism::Mps ||
      roomiest.free_bytes >= PlacementState::least_claim(roomiest)) {
    return {.constraint = Constraint::Memory,
            .reason = "memory need unknown; waiting for an empty GPU"};
  }
  return {.constraint = Constraint::Memory,
          .reason = fmt::format(
              "GPU {} has {} free; a job whose memory need is unknown starts with at least {}",
              roomiest.view->index,
              gib_text(roomiest.free_bytes),
              gib_text(PlacementState::least_claim(roomiest)))};
}

}  // namespace

bool QueuePass::held_against(const PendingJob& job, const Slot& slot, double progress) const {
  if (!slot.held) {
    return false;
  }
  return !job.job->runtime_s || held_until_s_ == kNoTime ||
         *job.job->runtime_s / std::max(progress, 0.01) > held_until_s_;
}

QueuePass::Kind QueuePass::kind_of(const PendingJob& job, bool by_run_time) const {
  const double runtime = job.job->runtime_s.value_or(0.0);
  return {job.form,
          job.filter,
          job.need_known ? job.need_bytes : ~std::uint64_t{0},
          job.job->uid,
          job.job->gpus,
          job.job->exclusive,
          turn_has_come(job),
          by_run_time && runtime > 0.0
              ? static_cast<int>(std::lround(std::log(runtime) / std::log(kAlike)))
              : -1};
}

// GPUs only fill during a decision: a job like one that was refused is refused too. A short job may
// still use a reserved GPU.
const Refusal* QueuePass::refused_before(const PendingJob& job) const {
  const bool short_enough = held_for_ && job.job->runtime_s && *job.job->runtime_s <= held_until_s_;
  if (const auto found = refused_.find(kind_of(job, false));
      found != refused_.end() && !short_enough) {
    return &found->second;
  }
  const auto found = refused_.find(kind_of(job, true));
  return found == refused_.end() || !job.job->runtime_s ? nullptr : &found->second;
}

Chosen QueuePass::alone(const PendingJob& job) const {
  SlotChoice choice{.progress = 1.0};
  for (const std::size_t i : state_.open()) {
    const Slot& slot = state_.slots()[i];
    if (state_.free_for_one(job, slot) && !held_against(job, slot, 1.0)) {
      choice.slots.push_back(i);
      if (choice.slots.size() == job.job->gpus) {
        choice.reason = job.job->gpus == 1 ? "alone on an empty GPU"
                                           : fmt::format("alone on {} empty GPUs", job.job->gpus);
        return choice;
      }
    }
  }
  const Constraint constraint = job.job->gpus > 1 ? Constraint::GpuCount : Constraint::Exclusive;
  return tl::unexpected(Refusal{
      .constraint = constraint,
      .reason = fmt::format("{} of {} GPUs that the job needs are empty{}",
                            choice.slots.size(),
                            job.job->gpus,
                            job.filter == 0 ? ""
                                            : fmt::format("; it runs on {} only",
                                                          filter_words(job.job->gpu_filter)))});
}

Refusal QueuePass::refuse(const PendingJob& job) const {
  const Slot* roomiest = nullptr;
  bool others = false;
  bool slo = job.job->job_class == JobClass::Slo;
  for (const std::size_t i : state_.open()) {
    const Slot& slot = state_.slots()[i];
    if (!state_.has_room(slot) || !PlacementState::wanted(job, slot)) {
      continue;
    }
    const bool other = !state_.users_agree(job, slot);
    others = others || other;
    slo = slo || (other && slot.slo);
    if (roomiest == nullptr || slot.free_bytes > roomiest->free_bytes) {
      roomiest = &slot;
    }
  }
  if (roomiest == nullptr) {
    return refuse_closed(job, state_.slots()).value_or(refuse_full(job));
  }
  if (!job.need_known && !settings_.memory_floor_bytes && !state_.claim(job, *roomiest)) {
    return refuse_unknown(job, *roomiest, state_);
  }
  if (!state_.fits(job, *roomiest)) {
    return {.constraint = Constraint::Memory,
            .reason = fmt::format("GPU {} has {} free; the job needs {}",
                                  roomiest->view->index,
                                  gib_text(roomiest->free_bytes),
                                  gib_text(job.need_bytes))};
  }
  if (others) {
    return {
        .constraint = Constraint::OtherUser,
        .reason = slo ? "GPUs with enough memory run another user's jobs, and a job with an SLO "
                        "shares only with jobs of its own user"
                      : "GPUs with enough memory run another user's jobs"};
  }
  return {.constraint = Constraint::Interference,
          .reason = "sharing would slow the running jobs more than this job would gain"};
}

Chosen QueuePass::consider(const PendingJob& job, Chooser& chooser) const {
  return needs_empty_gpus(job, settings_) ? alone(job) : chooser.choose(job, *this);
}

void QueuePass::place(const PendingJob& job,
                      const SlotChoice& choice,
                      PlacementDecision& decision) {
  Placement placement{.job = job.job->job,
                      .thread_limit = choice.thread_limit,
                      .progress = choice.progress,
                      .reason = choice.reason};
  for (const std::size_t index : choice.slots) {
    Slot& slot = state_.slots()[index];
    placement.gpus.push_back(slot.view->index);
    placement.mechanism = state_.mechanism(job, slot);
    const MemoryClaim claim = state_.claim(job, slot).value_or(MemoryClaim{});
    placement.reserve_bytes = claim.reserve_bytes;
    placement.cap_bytes = claim.cap_bytes;
    state_.put(job, slot, placement.mechanism, claim);
    slot.added.back().thread_limit = choice.thread_limit;
  }
  ++changes_;
  decision.place.push_back(std::move(placement));
}

// Reserves GPUs for the first job that lacks memory or GPUs: those that can take it soonest. Jobs
// behind it may use them only if they end before.
void QueuePass::hold_for(const PendingJob& job, Constraint constraint) {
  const bool waits_for_room =
      constraint == Constraint::Memory || constraint == Constraint::GpuCount ||
      (constraint == Constraint::Exclusive && needs_empty_gpus(job, settings_));
  if (held_for_ || !waits_for_room || !settings_.backfill) {
    return;
  }
  const bool empty = needs_empty_gpus(job, settings_) || (!job.need_known && !settings_.use_caps);
  std::vector<std::pair<double, std::size_t>> fit;
  for (std::size_t i = 0; i < state_.slots().size(); ++i) {
    const Slot& slot = state_.slots()[i];
    const std::uint64_t foreign = std::min(slot.view->memory_bytes, slot.view->foreign_bytes);
    if (slot.usable() && PlacementState::wanted(job, slot) &&
        slot.view->memory_bytes - foreign >= job.job->need_bytes.value_or(0) &&
        !(slot.view->foreign && needs_empty_gpus(job, settings_))) {
      const std::uint64_t need =
          job.need_known ? job.need_bytes : PlacementState::least_claim(slot);
      fit.emplace_back(empty ? slot.empty_after_s() : slot.fits_after_s(need), i);
    }
  }
  const auto soonest = soonest_free(std::move(fit), job.job->gpus);
  if (!soonest || (soonest->after_s == kNoTime && !settings_.reserve_unknown)) {
    return;
  }
  ++changes_;
  held_for_ = job.job->job;
  held_until_s_ = soonest->after_s;
  for (const std::size_t index : soonest->gpus) {
    state_.slots()[index].held = true;
  }
}

void QueuePass::ask_when_turn_comes(const PendingJob& job, PlacementDecision& decision) const {
  if (settings_.refused_turn_s && !turn_has_come(job)) {
    const double left = *settings_.refused_turn_s - job.job->waited_s;
    decision.ask_again_s = std::min(decision.ask_again_s.value_or(left), left);
  }
}

// Urgent jobs first, else in the order of the queue.
std::vector<std::size_t> QueuePass::order(const Chooser& chooser) const {
  std::vector<std::size_t> positions;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < state_.queue().size(); ++i) {
    (chooser.urgent(state_.queue()[i]) ? positions : others).push_back(i);
  }
  positions.insert(positions.end(), others.begin(), others.end());
  return positions;
}

std::optional<Refusal> QueuePass::place_or_refuse(const PendingJob& job,
                                                  Chooser& chooser,
                                                  PlacementDecision& decision) {
  if (const Refusal* before = refused_before(job)) {
    return *before;
  }
  Chosen chosen = consider(job, chooser);
  if (chosen) {
    place(job, *chosen, decision);
    return std::nullopt;
  }
  hold_for(job, chosen.error().constraint);
  refused_.insert_or_assign(kind_of(job, true), chosen.error());
  if (!chosen.error().by_run_time) {
    refused_.insert_or_assign(kind_of(job, false), chosen.error());
  }
  return std::move(chosen.error());
}

PlacementDecision QueuePass::run(Chooser& chooser) {
  PlacementDecision decision;
  decision.ask_again_s = state_.next_settled_s();
  behind_ = state_.queue().size();
  for (const std::size_t position : order(chooser)) {
    const PendingJob& job = state_.queue()[position];
    --behind_;
    const auto refusal = place_or_refuse(job, chooser, decision);
    state_.considered(job);
    if (!refusal) {
      continue;
    }
    decision.defer.push_back(
        {.job = job.job->job, .constraint = refusal->constraint, .reason = refusal->reason});
    if (refusal->constraint == Constraint::Interference) {
      ask_when_turn_comes(job, decision);
    } else if (refusal->constraint == Constraint::Latency) {
      // What requests measure meanwhile may change the answer.
      decision.ask_again_s =
          std::min(decision.ask_again_s.value_or(kLatencyAgainS), kLatencyAgainS);
    }
    if (!settings_.backfill) {
      break;
    }
  }
  if (state_.all_start() && !decision.defer.empty()) {
    // Whether processors are idle is looked at from time to time.
    const double left_s = std::min(state_.first_started_s(), kStartApartS);
    decision.ask_again_s = std::min(decision.ask_again_s.value_or(left_s), left_s);
  }
  return decision;
}

}  // namespace carpool::policy
