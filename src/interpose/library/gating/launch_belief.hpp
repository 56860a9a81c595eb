// What is believed of a launch before it asks: how long it takes, and how much of the GPU it fills.
#pragma once

#include <cstdint>

#include "interpose/gate/duration_belief.hpp"
#include "interpose/gate/work.hpp"
#include "interpose/library/gating/work_in_flight.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

// A launch that asks.
struct AskingLaunch {
  StreamPlace place{};
  gate::WorkKind kind = gate::WorkKind::Kernel;
  std::uint64_t key = 0;        // of the kernel table; 0: not known
  std::uint64_t place_key = 0;  // the same in its place of the program
  std::uint64_t blocks = 1;
  std::uint64_t kernels = 1;
  Handle function = nullptr;  // null: it cannot be confined to a part of the SMs
  LaunchShape shape{};
  unsigned shared_bytes = 0;
};

class LaunchBelief {
 public:
  // `sms`: of the GPU. `unmeasured`: whether too little is known of its duration.
  [[nodiscard]] gate::Work work_of(const SharedState& state,
                                   const AskingLaunch& launch,
                                   std::uint32_t sms,
                                   bool& unmeasured) const;

  // A kernel of this process was measured.
  void learn(gate::Nanoseconds measured) { durations_.learn(measured); }
  [[nodiscard]] gate::Nanoseconds of_long() const { return durations_.of_long(); }

 private:
  gate::DurationBelief durations_{};
};

}  // namespace carpool::interpose
