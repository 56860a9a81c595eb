// SLO clients that wait for the GPU give no sign meanwhile. Whether such a process runs is asked
// of the system, now and then.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

class WaitingClients {
 public:
  void look(const SharedState& state, gate::Nanoseconds now);
  // By slot; 0: never.
  [[nodiscard]] std::span<const gate::Nanoseconds> last_seen() const { return seen_; }

 private:
  void look_at(const ClientSlot& slot, std::uint32_t number, gate::Nanoseconds now);

  std::array<gate::Nanoseconds, kClientSlots> seen_{};
  std::array<gate::Nanoseconds, kClientSlots> tried_{};
  std::uint64_t own_namespace_ = 0;
};

}  // namespace carpool::interpose
