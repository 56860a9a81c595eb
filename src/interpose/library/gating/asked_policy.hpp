// The policy that a best-effort process asks, and what the policy remembers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/gate/lane_turns.hpp"
#include "interpose/gate/policy.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

class AskedPolicy {
 public:
  void start(const gate::PolicyChoice& choice, std::uint32_t slot);

  // As its place in gate::policies(). One that needs MPS is not asked where an SLO client is
  // outside of it: then the first one is.
  [[nodiscard]] std::size_t in_use(const gate::DeviceFacts& device) const {
    return policy_.needs_mps && !device.mps ? 0 : number_;
  }
  // Whether it is to be told soon what is done: it limits the use of the GPU.
  [[nodiscard]] bool counts_use() const { return policy_.takes_limit; }
  // `done_at`: when the work of this process is done with this launch, by means.
  [[nodiscard]] gate::Decision decide(SharedState& state,
                                      const gate::GateView& view,
                                      const gate::Work& work,
                                      gate::Nanoseconds done_at,
                                      gate::Nanoseconds now);

  // Policies with a memory see this process and, as launches, the SLO clients. `finished`: work of
  // this process that was found to be done since the last look, by means.
  // `done_at`: when the rest of it is.
  void look(SharedState& state,
            const gate::DeviceFacts& device,
            gate::Nanoseconds finished,
            gate::Nanoseconds done_at,
            gate::Nanoseconds now);
  void submitted(const gate::Work& work, const gate::DeviceFacts& device, gate::Nanoseconds now);

  // Iterations that the program marks.
  void iteration_begins(gate::Nanoseconds now) { turns_.iteration_begins(now); }
  void iteration_ends(SharedState& state, gate::Nanoseconds done_at, gate::Nanoseconds now) {
    turns_.iteration_ends(state, done_at, now);
  }

 private:
  void tell(const gate::DeviceFacts& device, const gate::Event& event);

  gate::Policy policy_{};
  std::size_t number_ = 0;
  gate::PolicyMemory memory_{};
  bool has_lane_ = false;  // which all processes share: it is not remembered from events
  gate::LaneTurns turns_{};
  std::uint64_t slo_launches_ = 0;  // counted for the memory
};

}  // namespace carpool::interpose
