// How a launch of a best-effort process asks its policy, and what is counted when it goes.
#include <algorithm>
#include <atomic>

#include "interpose/library/gating/best_effort_side.hpp"

namespace carpool::interpose {

using gate::Decision;
using gate::HoldReason;
using gate::kMillisecond;
using gate::Nanoseconds;

namespace {

constexpr std::uint32_t kManyCommands = 128;
constexpr Nanoseconds kBetweenCounts = 10 * kMillisecond;

}  // namespace

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
  SharedState* const state = client.shared();
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
  words.in_flight_ns.store(static_cast<std::uint64_t>(charged), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (policy_.counts_use() && question.now >= count_use_at_) {
    work_.reclaim(question.now);
    count_use_at_ = question.now + kBetweenCounts;
  }
  policy_.look(*state, device_, work_.take_finished(), work_.likely_due(), question.now);
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
                         .sms = work_.sms(),
                         .long_kernel = belief_.of_long(),
                         .alive = alive_.last_seen()},
                        question.now);
  show_policy(words, view.device);
  idle_budget_ = view.budget.idle_ns;
  may_stay_ = std::max(view.budget.lead_ns, view.budget.backlog_ns - question.work.bound_ns);
  const Nanoseconds done_at =
      std::max(work_.likely_due(), question.now) + question.work.expected_ns;
  const Decision decision =
      confine(policy_.decide(*state, view, question.work, done_at, question.now), question);
  if (!decision.admitted || question.confined != nullptr) {
    show_in_flight(words);
  }
  return decision;
}

// What waits at a gate does not count for the other processes.
void BestEffortSide::show_in_flight(ClientGate& words) const {
  const Nanoseconds in_flight = queued_ ? 0 : work_.bound();
  words.in_flight_ns.store(static_cast<std::uint64_t>(in_flight), std::memory_order_relaxed);
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
  question.queued = turns_.pass(question.place, question.work, question.now);
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
  show_in_flight(words);
  words.commands_in_flight.store(queued_ ? 0 : work_.commands(), std::memory_order_relaxed);
  words.start_tag.store(static_cast<std::uint64_t>(question.start_tag), std::memory_order_relaxed);
  words.last_asked_ns.store(0, std::memory_order_relaxed);
  words.lease_ns.store(static_cast<std::uint64_t>(question.now), std::memory_order_relaxed);
  policy_.submitted(question.work, device_, question.now);
}

}  // namespace carpool::interpose
