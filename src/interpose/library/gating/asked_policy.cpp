#include "interpose/library/gating/asked_policy.hpp"

#include <algorithm>

#include "interpose/gate/policies/policies.hpp"
#include "interpose/gate/shared_words.hpp"

namespace carpool::interpose {

using gate::EventKind;
using gate::Nanoseconds;

namespace {

// Numbers of clients in the memory of a policy.
constexpr std::uint32_t kOwn = 0;
constexpr std::uint32_t kSloClients = 1;

}  // namespace

void AskedPolicy::start(const gate::PolicyChoice& choice, std::uint32_t slot) {
  policy_ = *choice.policy;
  number_ = static_cast<std::size_t>(
      std::ranges::find(gate::policies(), policy_.name, &gate::Policy::name) -
      gate::policies().begin());
  has_lane_ = policy_.observe == &gate::observe_salus;
  turns_.start(slot);
  tell({},
       {.kind = EventKind::Joined,
        .client = kOwn,
        .terms = {.limit_permille = choice.limit_permille}});
}

void AskedPolicy::tell(const gate::DeviceFacts& device, const gate::Event& event) {
  if (policy_.observe != nullptr && !has_lane_) {
    policy_.observe(memory_, device, event);
  }
}

gate::Decision AskedPolicy::decide(SharedState& state,
                                   const gate::GateView& view,
                                   const gate::Work& work,
                                   Nanoseconds done_at,
                                   Nanoseconds now) {
  const gate::Decision decision =
      gate::policies()[in_use(view.device)].decide(view, memory_, work, now);
  if (!has_lane_ || !decision.admitted || turns_.enter(state, done_at, now)) {
    return decision;
  }
  return gate::hold(gate::HoldReason::IterationOfOther, now);
}

void AskedPolicy::look(SharedState& state,
                       const gate::DeviceFacts& device,
                       Nanoseconds finished,
                       Nanoseconds done_at,
                       Nanoseconds now) {
  if (policy_.observe == nullptr) {
    return;
  }
  if (has_lane_) {
    turns_.keep(state, done_at, now);
    memory_.lane = turns_.sight(state, now);
    return;
  }
  std::uint64_t launches = 0;
  gate::for_each_slo_client(state, [&](std::uint32_t slot) {
    launches += state.clients[slot].counters.launches.load(std::memory_order_relaxed);
  });
  if (launches > slo_launches_ && slo_launches_ != 0) {
    tell(device,
         {.kind = EventKind::Submitted,
          .client = kSloClients,
          .now = now,
          .work = {.blocks = launches - slo_launches_},
          .terms = {.job_class = JobClass::Slo}});
  }
  slo_launches_ = launches;
  if (finished > 0) {
    tell(device,
         {.kind = EventKind::Finished, .client = kOwn, .now = now, .measured_ns = finished});
  }
  tell(device, {.kind = EventKind::Clock, .now = now});
}

void AskedPolicy::submitted(const gate::Work& work,
                            const gate::DeviceFacts& device,
                            Nanoseconds now) {
  tell(device, {.kind = EventKind::Submitted, .client = kOwn, .now = now, .work = work});
}

}  // namespace carpool::interpose
