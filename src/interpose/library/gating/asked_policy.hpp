// The policy that a best-effort process asks, and what the policy remembers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/gate/policy.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

class AskedPolicy {
 public:
  void start(const gate::Policy& policy);

  // As its place in gate::policies(). One that needs MPS is not asked where an SLO client is
  // outside of it: then the first one is.
  [[nodiscard]] std::size_t in_use(const gate::DeviceFacts& device) const {
    return policy_.needs_mps && !device.mps ? 0 : number_;
  }
  [[nodiscard]] gate::Decision decide(const gate::GateView& view,
                                      const gate::Work& work,
                                      gate::Nanoseconds now) const;

  // Policies with a memory see this process and, as launches, the SLO clients.
  void look(const SharedState& state, const gate::DeviceFacts& device, gate::Nanoseconds now);
  void submitted(const gate::Work& work, const gate::DeviceFacts& device, gate::Nanoseconds now);

 private:
  gate::Policy policy_{};
  std::size_t number_ = 0;
  gate::PolicyMemory memory_{};
  std::uint64_t slo_launches_ = 0;  // counted for the memory
};

}  // namespace carpool::interpose
