#include "interpose/library/gating/asked_policy.hpp"

#include <algorithm>

namespace carpool::interpose {

using gate::Nanoseconds;

void AskedPolicy::start(const gate::Policy& policy) {
  policy_ = policy;
  number_ = static_cast<std::size_t>(
      std::ranges::find(gate::policies(), policy.name, &gate::Policy::name) -
      gate::policies().begin());
}

gate::Decision AskedPolicy::decide(const gate::GateView& view,
                                   const gate::Work& work,
                                   Nanoseconds now) const {
  return gate::policies()[in_use(view.device)].decide(view, memory_, work, now);
}

void AskedPolicy::look(const SharedState& state, const gate::DeviceFacts& device, Nanoseconds now) {
  if (policy_.observe == nullptr) {
    return;
  }
  std::uint64_t launches = 0;
  for (std::uint32_t slot = 0; slot < kClientSlots; ++slot) {
    if ((state.gpu.slo_clients[slot / 64].load(std::memory_order_relaxed) >> slot % 64 & 1U) != 0) {
      launches += state.clients[slot].counters.launches.load(std::memory_order_relaxed);
    }
  }
  if (launches > slo_launches_ && slo_launches_ != 0) {
    policy_.observe(memory_,
                    device,
                    {.kind = gate::EventKind::Submitted,
                     .client = 1,
                     .now = now,
                     .work = {.blocks = launches - slo_launches_},
                     .terms = {.job_class = JobClass::Slo}});
  }
  slo_launches_ = launches;
  policy_.observe(memory_, device, {.kind = gate::EventKind::Clock, .now = now});
}

void AskedPolicy::submitted(const gate::Work& work,
                            const gate::DeviceFacts& device,
                            Nanoseconds now) {
  if (policy_.observe != nullptr) {
    policy_.observe(
        memory_, device, {.kind = gate::EventKind::Submitted, .now = now, .work = work});
  }
}

}  // namespace carpool::interpose
