#include "interpose/library/gating/best_effort_side.hpp"

#include <algorithm>

#include "interpose/gate/policies/policies.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/gating/hold_pause.hpp"
#include "interpose/library/spin_lock.hpp"

namespace carpool::interpose {

using gate::Decision;
using gate::HoldReason;
using gate::kMicrosecond;
using gate::kMillisecond;
using gate::Nanoseconds;

namespace {

// Events behind the launches that fill the budget.
constexpr Nanoseconds kMarksOfBudget = 4;

constinit SpinLock gating_lock;  // NOLINT: of all GPUs; not held while a launch waits

// A kernel that would be held alone on the GPU, too, keeps no other client waiting.
bool waits_for_turn(HoldReason reason) {
  return reason != HoldReason::LongForSlo && reason != HoldReason::HeavyBesideRequest;
}

}  // namespace

void BestEffortSide::start(Client& client,
                           const gate::PolicyChoice& choice,
                           const gate::DeviceFacts& device,
                           int ordinal) {
  policy_.start(choice, client.id().slot);
  device_ = device;
  ordinal_ = ordinal;
  turns_.start(*choice.policy, device);
  shares_space_ = device.mps && choice.policy->decide == &gate::decide_spacetime;
  show_policy(client.slot().gate, device);
}

void BestEffortSide::show_policy(ClientGate& words, const gate::DeviceFacts& device) {
  const std::uint64_t shown = policy_.in_use(device) + 1;
  if (words.policy.load(std::memory_order_relaxed) != shown) {
    words.policy.store(shown, std::memory_order_relaxed);
  }
}

gate::Work BestEffortSide::work_of(const SharedState& state,
                                   const AskingLaunch& launch,
                                   bool& unmeasured) {
  gate::Work work = belief_.work_of(state, launch, device_.sms, unmeasured);
  device_.sm_limits =
      shares_space_ && gate::slos_in_mps(state) && partitions_.make(ordinal_, device_.sms);
  work.least_sms = device_.sms;
  if (device_.sm_limits && launch.function != nullptr) {
    work.least_sms = partitions_.least_sms({.function = launch.function,
                                            .shape = launch.shape,
                                            .shared_bytes = launch.shared_bytes,
                                            .key = launch.key});
  }
  return work;
}

Admission BestEffortSide::admit(Client& client, const AskingLaunch& launch) {
  const SharedState* const state = client.shared();
  if (state == nullptr || capture_alive()) {
    return {};
  }
  Question question{.place = launch.place, .began = exact_now()};
  question.now = question.began;
  Decision decision;
  {
    const SpinLock::Holder held(gating_lock);
    if (capture_alive()) {
      return {};
    }
    alive_.look(*state, question.now);
    question.work = work_of(*state, launch, question.unmeasured);
    turns_.see(question.work);
    question.start_tag = std::max(finish_tag_, gate::shared_virtual_time(*state));
    decision = ask_or_queue(client, question);
    if (decision.admitted) {
      commit(client, question);
    }
  }
  if (!decision.admitted) {
    wait(client, question, decision);
  }
  ended_.look(client, question.now);
  return {.asked = true,
          .unmeasured = question.unmeasured && launch.kind != gate::WorkKind::Graph,
          .confined = question.confined,
          .sms_permille = question.confined == nullptr ? 1000 : question.sms * 1000 / device_.sms};
}

void BestEffortSide::wait(Client& client, Question& question, Decision decision) {
  ClientGate& words = client.slot().gate;
  HoldReason counted = HoldReason::None;
  while (!decision.admitted) {
    const auto reason = static_cast<std::size_t>(decision.reason);
    if (decision.reason != counted) {
      words.holds[reason].fetch_add(1, std::memory_order_relaxed);
      counted = decision.reason;
    }
    words.start_tag.store(static_cast<std::uint64_t>(question.start_tag),
                          std::memory_order_relaxed);
    words.last_asked_ns.store(
        waits_for_turn(decision.reason) ? static_cast<std::uint64_t>(question.now) : 0,
        std::memory_order_relaxed);
    const bool kept_closed = question.queued && turns_.is_closed();
    pause_before_next(decision,
                      {.held = question.now - question.began,
                       .ends_in = decision.until - question.now,
                       .work_ends_in = question.fits_in});
    const Nanoseconds now = exact_now();
    if (!kept_closed) {
      words.held_ns[reason].fetch_add(static_cast<std::uint64_t>(now - question.now),
                                      std::memory_order_relaxed);
    }
    question.now = now;
    const SpinLock::Holder held(gating_lock);
    alive_.look(*client.shared(), now);
    decision = now - question.began >= kLongestHold || capture_alive()
                   ? gate::admit()
                   : ask_or_queue(client, question);
    if (decision.admitted) {
      commit(client, question);
    }
  }
}

void BestEffortSide::launched(const StreamPlace& place) {
  const SpinLock::Holder held(gating_lock);
  work_.mark(place, queued_ ? TurnQueue::kBetweenMarks : idle_budget_ / kMarksOfBudget);
}

void BestEffortSide::launched_confined(const StreamPlace& place, bool accepted) {
  const SpinLock::Holder held(gating_lock);
  partitions_.leave(place, accepted);
  confined_.mark(place, 0);
}

void BestEffortSide::stream_waits(Handle event, const StreamPlace& place) {
  const SpinLock::Holder held(gating_lock);
  if (!capture_alive()) {
    turns_.stream_waits(event, place, queued_ && work_.commands() > 0, exact_now());
  }
}

void BestEffortSide::event_recorded(Handle event, const StreamPlace& place) {
  const SpinLock::Holder held(gating_lock);
  if (!capture_alive()) {
    turns_.event_recorded(event, place, exact_now());
  }
}

void BestEffortSide::iteration_begins(Client& /*client*/) {
  const SpinLock::Holder held(gating_lock);
  policy_.iteration_begins(exact_now());
}

void BestEffortSide::iteration_ends(Client& client) {
  const SpinLock::Holder held(gating_lock);
  if (SharedState* const state = client.shared()) {
    policy_.iteration_ends(*state, work_.likely_due(), exact_now());
  }
}

void BestEffortSide::learn(Nanoseconds measured) {
  const SpinLock::Attempt attempt(gating_lock);
  if (attempt.held()) {
    belief_.learn(measured);
    turns_.expect(belief_.of_long());
  }
}

void BestEffortSide::forget(Handle context) {
  const SpinLock::Holder held(gating_lock);
  work_.forget(context);
  confined_.forget(context);
  partitions_.forget(context);
  turns_.forget(context);
}

void wait_for_gating() {
  const SpinLock::Holder held(gating_lock);
}

}  // namespace carpool::interpose
