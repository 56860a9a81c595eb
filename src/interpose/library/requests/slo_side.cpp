#include "interpose/library/requests/slo_side.hpp"

#include <algorithm>
#include <limits>

#include "interpose/gate/lane.hpp"
#include "interpose/gate/policies/policies.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/draining/draining.hpp"
#include "interpose/library/gating/hold_pause.hpp"
#include "interpose/library/gating/sign_bell.hpp"

namespace carpool::interpose {

using gate::HoldReason;
using gate::Nanoseconds;

namespace {

constexpr std::uint64_t kMillionthsOfPermille = 1000;

Nanoseconds signed_ns(std::uint64_t time) {
  return static_cast<Nanoseconds>(time);
}

constexpr Nanoseconds kBetweenQuestions = 50 * gate::kMicrosecond;
constexpr gate::PolicyMemory kNoMemory{};

}  // namespace

void SloSide::start(Client& client, const SloPromise& promise) {
  promise_ = promise;
  const auto permille =
      static_cast<std::uint32_t>(promise.quantile_millionths / kMillionthsOfPermille);
  phase_ = gate::LaunchPhase(signed_ns(promise.slo_ns));
  tail_ = gate::TailControl({.quantile_permille = permille});
  ClientGate& words = client.slot().gate;
  words.slo_ns.store(promise.slo_ns);
  words.quantile_millionths.store(promise.quantile_millionths);
  words.room_millionths.store(tail_.room_permille() * kMillionthsOfPermille);
  words.in_mps.store(promise.in_mps ? 1 : 0);
  const std::uint32_t slot = client.id().slot;
  for (std::uint32_t half = 0; half < others_.size(); ++half) {
    others_[half] = ~(slot / 64 == half ? std::uint64_t{1} << slot % 64 : 0);
  }
  show_slo_presence(client);
}

namespace {

HoldReason reason_to_wait(SharedState& state, std::uint32_t slot, Nanoseconds now) {
  if (gate::lane_of(state, now).taken) {
    return HoldReason::IterationOfOther;
  }
  gate::clear_lane(state, now);
  const gate::GateView view = gate::shared_slo_view(state, slot, now);
  return gate::decide_spacetime(view, kNoMemory, {}, now).reason;
}

}  // namespace

void SloSide::make_way(Client& client, std::uint64_t now) {
  SharedState& state = *client.shared();
  ended_.look(client, signed_ns(now));
  const auto look = [&state, slot = client.id().slot](std::uint64_t time) {
    return reason_to_wait(state, slot, signed_ns(time));
  };
  const HoldReason first = look(now);
  if (first == HoldReason::None) {
    return;
  }
  const auto reason = static_cast<std::size_t>(first);
  ClientGate& words = client.slot().gate;
  const std::uint64_t began = now;
  words.busy.fetch_add(1, std::memory_order_relaxed);  // its own request goes on
  do {
    pause_ns(kBetweenQuestions);
    now = exact_now_ns();
    words.lease_ns.store(now, std::memory_order_relaxed);
  } while (signed_ns(now - began) < kLongestHold && look(now) != HoldReason::None);
  words.busy.fetch_sub(1, std::memory_order_relaxed);
  words.holds[reason].fetch_add(1, std::memory_order_relaxed);
  words.held_ns[reason].fetch_add(now - began, std::memory_order_relaxed);
  stop_if_draining();  // the signal may have come meanwhile
}

void SloSide::ring(Client& client) {
  if (SharedState* const state = client.shared()) {
    ring_bell(*state);
  }
}

void SloSide::begin(Client& client, std::uint64_t arrival, std::uint64_t now) {
  ClientGate& words = client.slot().gate;
  book_.began(signed_ns(arrival), signed_ns(arrival + promise_.slo_ns));
  began_ = now;
  launches_before_ = order_.launches();
  waited_launches_ = launches_before_;
  others_waited_ = false;
  active_.store(true, std::memory_order_relaxed);
  beside_wait_ = waits_for_gpu(words.busy.load(std::memory_order_relaxed));
  const Nanoseconds next = book_.next_arrival();
  words.next_arrival_ns.store(next == gate::kNever ? 0 : static_cast<std::uint64_t>(next));
  words.commands_in_flight.store(0, std::memory_order_relaxed);
  phase_.request_began(signed_ns(now));
  show_launch_phase(words);
  show_arrival(words);
  words.lease_ns.store(now);
  show_slo_presence(client);
}

OpenRequest SloSide::current(std::uint64_t sign) const {
  return {.arrival_ns = static_cast<std::uint64_t>(book_.arrival()),
          .began_ns = began_,
          .before = launches_before_,
          .last = order_.launches(),
          .sign_ns = sign};
}

// Of the request that is the first to be late.
void SloSide::show_arrival(ClientGate& words) {
  const auto current_ns = static_cast<std::uint64_t>(book_.active() ? book_.arrival() : 0);
  const std::uint64_t open_ns = open_.earliest_ns();
  words.request_began_ns.store(open_ns == 0      ? current_ns
                               : current_ns == 0 ? open_ns
                                                 : std::min(open_ns, current_ns));
}

void SloSide::close(ClientGate& words) {
  phase_.request_ended();
  book_.dropped();
  active_.store(false, std::memory_order_relaxed);
  show_arrival(words);
}

// By the begin of the next one. What it has launched last may be on the GPU: then it goes on, but
// not if the program has waited for its results and left the rest without an event behind it. The
// last sign may be that of another request.
void SloSide::end_current(ClientGate& words, std::uint64_t now, Nanoseconds silent, bool waits) {
  const bool told = waited_launches_ > launches_before_;
  const bool beside = waits || others_waited_ || !open_.empty();
  const std::uint64_t sign =
      told && beside ? waited_ns_ : words.lease_ns.load(std::memory_order_relaxed);
  const bool left = told && !has_event_behind(now);
  if (waited_launches_ < order_.launches() && works(now) && !left &&
      (waits || silent < gate::kSloLease)) {
    open_.add(current(sign), [&](const OpenRequest& request) { count(words, request, now); });
    return;
  }
  count(words, current(sign), now);
  if (!waits && open_.empty()) {
    order_.done(order_.reach_of({}), 0);
  }
}

void SloSide::count(ClientGate& words, const OpenRequest& request, std::uint64_t now) {
  const std::uint64_t at = request.sign_ns;
  const Nanoseconds slo = signed_ns(promise_.slo_ns);
  const Nanoseconds latency = std::max<Nanoseconds>(0, signed_ns(at - request.arrival_ns));
  queue_wait_.ended(signed_ns(at), latency);
  tail_.request_ended(latency, slo, signed_ns(now));
  if (words.requests.load(std::memory_order_relaxed) == gate::TailSettings{}.first_requests) {
    latencies_ = gate::QuantileSketch{kRecentRequests};  // those before have loaded kernels
  }
  latencies_.add(latency);
  services_.add(signed_ns(at - request.began_ns));
  const auto permille =
      static_cast<std::uint32_t>(promise_.quantile_millionths / kMillionthsOfPermille);
  words.requests.fetch_add(1, std::memory_order_relaxed);
  words.late_requests.fetch_add(latency > slo ? 1 : 0, std::memory_order_relaxed);
  words.p50_ns.store(static_cast<std::uint64_t>(latencies_.quantile(500)));
  words.tail_ns.store(static_cast<std::uint64_t>(latencies_.quantile(permille)));
  words.service_ns.store(services_.mean_ns());
  words.service_square_us2.store(services_.mean_square_us2());
  words.room_millionths.store(tail_.room_permille() * kMillionthsOfPermille);
  words.time_only_until_ns.store(static_cast<std::uint64_t>(tail_.time_only_until()));
}

// Of requests without a sign since then the program waits for nothing any more.
void SloSide::give_up(ClientGate& words, std::uint64_t since, std::uint64_t now) {
  const std::uint64_t last =
      open_.expire(since, [&](const OpenRequest& request) { count(words, request, now); });
  if (last != 0) {
    Reach reach;
    reach.add_all(last);
    order_.done(reach, 0);
  }
}

// Under MPS the kernels of others run beside those of the request, and each one may delay it.
void SloSide::show_launch_phase(ClientGate& words) {
  words.open_commands.store(promise_.in_mps ? 0 : phase_.open_commands(),
                            std::memory_order_relaxed);
}

void SloSide::paused(ClientGate& words, Nanoseconds pause) {
  const SpinLock::Attempt attempt(lock_);
  if (attempt.held()) {
    quiet_.paused(pause);
    words.quiet_ns.store(static_cast<std::uint64_t>(quiet_.value()), std::memory_order_relaxed);
  }
}

// A launch or a copy that comes after silence, or a copy that follows a wait of its thread.
void SloSide::next_request(Client& client, std::uint64_t now, Nanoseconds silent) {
  ClientGate& words = client.slot().gate;
  const SpinLock::Attempt attempt(lock_);
  // Another thread has begun it, or the program declares its requests.
  if (!attempt.held() || declares_.load(std::memory_order_relaxed)) {
    return;
  }
  const bool waits = waits_for_gpu(words.busy.load(std::memory_order_relaxed));
  if (!waits) {
    give_up(words, since(now, gate::kSloLease), now);
  }
  if (book_.active()) {
    if (order_.launches() != launches_before_) {
      end_current(words, now, silent, waits);
    } else if (silent < gate::kUnfinishedQuietTime) {
      return;  // the request has several inputs
    }
    close(words);
  }
  // Beside others it has not waited for them.
  const Nanoseconds queued = queue_wait_.began(signed_ns(now));
  const bool alone = open_.empty() && !waits;
  begin(client, now - static_cast<std::uint64_t>(alone ? queued : 0), now);
}

void SloSide::request_begins(Client& client, std::uint64_t now) {
  ClientGate& words = client.slot().gate;
  const SpinLock::Holder held(lock_);
  if (declared_++ > 0) {
    return;  // requests that overlap count as one
  }
  give_up(words, std::numeric_limits<std::uint64_t>::max(), now);
  if (book_.active()) {
    count(words, current(words.lease_ns.load(std::memory_order_relaxed)), now);
    close(words);
  }
  declares_.store(true, std::memory_order_relaxed);
  words.busy.fetch_add(1, std::memory_order_relaxed);
  begin(client, now, now);
  ring(client);
}

void SloSide::request_ends(Client& client, std::uint64_t now) {
  ClientGate& words = client.slot().gate;
  const SpinLock::Holder held(lock_);
  if (declared_ == 0) {
    return;
  }
  --declared_;
  if (declared_ > 0) {
    return;
  }
  words.busy.fetch_sub(1, std::memory_order_relaxed);
  words.lease_ns.store(now, std::memory_order_relaxed);
  count(words, current(now), now);
  close(words);
}

}  // namespace carpool::interpose
