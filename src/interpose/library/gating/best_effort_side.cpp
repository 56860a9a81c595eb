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
using gate::kSecond;
using gate::Nanoseconds;

namespace {

// No launch waits longer, whatever the shared state says.
constexpr Nanoseconds kLongestHold = kSecond;
constexpr std::uint32_t kManyCommands = 128;
// Events behind the launches that fill the budget.
constexpr Nanoseconds kMarksOfBudget = 4;

constinit SpinLock gating_lock;  // NOLINT: of all GPUs; not held while a launch waits

Nanoseconds exact_now() {
  return static_cast<Nanoseconds>(exact_now_ns());
}

}  // namespace

void BestEffortSide::start(Client& client,
                           const gate::Policy& policy,
                           const gate::DeviceFacts& device,
                           int ordinal) {
  policy_.start(policy);
  device_ = device;
  ordinal_ = ordinal;
  turns_.start(policy, device);
  shares_space_ = device.mps && policy.decide == &gate::decide_spacetime;
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

// A launch that may go to a part of the SMs enters it; one that cannot is held.
Decision BestEffortSide::confine(Decision decision, Question& question) {
  if (!decision.admitted || decision.sms == 0) {
    return decision;
  }
  if (work_.commands() > 0 && queued_) {
    // It would wait in its stream, behind a gate, until the request has ended.
    return gate::hold(HoldReason::HeavyBesideRequest, question.now);
  }
  question.confined = partitions_.enter(question.place, question.work.least_sms, decision.sms);
  question.sms = partitions_.entered_sms();
  return question.confined == nullptr ? gate::hold(HoldReason::HeavyBesideRequest, question.now)
                                      : decision;
}

Decision BestEffortSide::ask(Client& client, Question& question) {
  const SharedState* const state = client.shared();
  if (state == nullptr) {
    return gate::admit();
  }
  // Charged before the others are looked at: of two processes that ask at the same time, at least
  // one sees the other.
  ClientGate& words = client.slot().gate;
  const Nanoseconds charged = work_.bound() + question.work.bound_ns;
  words.due_ns.store(
      static_cast<std::uint64_t>(std::max(work_.due(), question.now) + question.work.bound_ns),
      std::memory_order_relaxed);
  words.in_flight_ns.store(static_cast<std::uint64_t>(charged), std::memory_order_seq_cst);
  policy_.look(*state, device_, question.now);
  const gate::GateView view =
      gate::shared_view(*state,
                        device_,
                        {.slot = client.id().slot,
                         .held_for = question.now - question.began,
                         .start_tag = question.start_tag,
                         .in_flight_ns = work_.bound(),
                         .confined_ns = confined_.bound(),
                         .since_drained_ns = work_.since_drained(),
                         .began = work_.began(),
                         .ends_in = work_.ends_in(question.now),
                         .confined_ends_in = confined_.ends_in(question.now),
                         .commands = work_.commands(),
                         .long_kernel = belief_.of_long(),
                         .alive = alive_.last_seen()},
                        question.now);
  show_policy(words, view.device);
  idle_budget_ = view.budget.idle_ns;
  may_stay_ = std::max(view.budget.lead_ns, view.budget.backlog_ns - question.work.bound_ns);
  const Decision decision = confine(policy_.decide(view, question.work, question.now), question);
  if (!decision.admitted || question.confined != nullptr) {
    words.in_flight_ns.store(static_cast<std::uint64_t>(work_.bound()), std::memory_order_relaxed);
  }
  return decision;
}

// What is done is looked for only when it would make a difference.
Decision BestEffortSide::ask_twice(Client& client, Question& question) {
  Decision decision = ask(client, question);
  if (!decision.admitted && work_.commands() + confined_.commands() > 0) {
    work_.mark(question.place, 0);
    work_.reclaim(question.now);
    confined_.reclaim(question.now);
    decision = ask(client, question);
    question.fits_in =
        std::max(work_.likely_due(), confined_.likely_due()) - question.now - may_stay_;
  }
  return decision;
}

// Ahead of its turn if that is possible.
Decision BestEffortSide::ask_or_queue(Client& client, Question& question) {
  question.queued = turns_.takes(client, question.work, device_.sm_limits, question.now);
  if (!question.queued) {
    return ask_twice(client, question);
  }
  if (TurnQueue::is_full(work_, question.work)) {
    work_.mark(question.place, 0);
    work_.reclaim(question.now);
    if (TurnQueue::is_full(work_, question.work)) {
      question.fits_in = kMillisecond;
      return gate::hold(HoldReason::InFlightBound, question.now);
    }
  }
  question.queued = turns_.pass(question.place, question.work);
  return question.queued ? gate::admit() : ask_twice(client, question);
}

void BestEffortSide::commit(Client& client, const Question& question) {
  if (work_.commands() > kManyCommands) {
    work_.reclaim(question.now);
  }
  if (question.confined == nullptr) {
    work_.add(question.place, question.work, question.now);
  } else {
    gate::Work longer = question.work;
    const std::uint32_t sms = std::max(1U, question.sms);
    longer.expected_ns = longer.expected_ns * device_.sms / sms;
    longer.bound_ns = longer.bound_ns * device_.sms / sms;
    confined_.add(question.place, longer, question.now);
  }
  queued_ = question.queued || (queued_ && work_.commands() > 1);
  finish_tag_ = question.start_tag + question.work.bound_ns;
  ClientGate& words = client.slot().gate;
  // What waits at a gate does not count for the other processes.
  const Nanoseconds in_flight = queued_ ? 0 : work_.bound();
  words.in_flight_ns.store(static_cast<std::uint64_t>(in_flight), std::memory_order_relaxed);
  words.commands_in_flight.store(queued_ ? 0 : work_.commands(), std::memory_order_relaxed);
  words.start_tag.store(static_cast<std::uint64_t>(question.start_tag), std::memory_order_relaxed);
  words.last_asked_ns.store(0, std::memory_order_relaxed);
  words.lease_ns.store(static_cast<std::uint64_t>(question.now), std::memory_order_relaxed);
  policy_.submitted(question.work, device_, question.now);
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
    words.last_asked_ns.store(static_cast<std::uint64_t>(question.now), std::memory_order_relaxed);
    pause_before_next(decision,
                      {.held = question.now - question.began,
                       .ends_in = decision.until - question.now,
                       .work_ends_in = question.fits_in});
    const Nanoseconds now = exact_now();
    words.held_ns[reason].fetch_add(static_cast<std::uint64_t>(now - question.now),
                                    std::memory_order_relaxed);
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
