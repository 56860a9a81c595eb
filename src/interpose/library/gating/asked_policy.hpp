// The policy that a best-effort process asks, and what the policy remembers.
#pragma once

#include <cstdint>

#include "interpose/gate/policy.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

class AskedPolicy {
 public:
  void start(const gate::Policy& policy) { policy_ = policy; }

  // One that needs MPS is not asked where an SLO client is outside of it.
  [[nodiscard]] gate::Decision decide(const gate::GateView& view,
                                      const gate::Work& work,
                                      gate::Nanoseconds now) const;

  // Policies with a memory see this process and, as launches, the SLO clients.
  void look(const SharedState& state, const gate::DeviceFacts& device, gate::Nanoseconds now);
  void submitted(const gate::Work& work, const gate::DeviceFacts& device, gate::Nanoseconds now);

 private:
  gate::Policy policy_{};
  gate::PolicyMemory memory_{};
  std::uint64_t slo_launches_ = 0;  // counted for the memory
};

}  // namespace carpool::interpose
