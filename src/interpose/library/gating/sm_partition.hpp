// Parts of the SMs of a GPU, for single launches of a program that knows nothing of them. Each is a
// green context of the primary context, with one stream. A launch that is confined goes to that
// stream, behind what its own stream has got, and its own stream goes on behind it: for the program
// nothing changes but the time.
#pragma once

#include <array>
#include <cstdint>

#include "interpose/library/fixed_table.hpp"
#include "interpose/library/gating/work_in_flight.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {

// A kernel as the driver is asked for it.
struct ConfinableLaunch {
  Handle function = nullptr;
  LaunchShape shape{};
  unsigned shared_bytes = 0;
  std::uint64_t key = 0;  // of the kernel table
};

// All with the lock of the gate held. While a capture is alive, the driver is not called.
class SmPartitions {
 public:
  // Makes the largest part, half of the SMs; false: this driver, GPU or context has none.
  [[nodiscard]] bool make(int device, std::uint32_t sms);

  // On how many SMs the kernel computes the same. Blocks that all fit on the GPU at once may wait
  // for one another: they must all fit on the part, too, or they would wait for ever. A kernel with
  // more blocks than fit on the GPU needs one SM. All of the GPU's if nothing is known.
  [[nodiscard]] std::uint32_t least_sms(const ConfinableLaunch& launch);

  // The stream for a launch into `least_sms` to `most_sms`, which leave() has to follow; null: not
  // now.
  [[nodiscard]] Handle enter(const StreamPlace& own,
                             std::uint32_t least_sms,
                             std::uint32_t most_sms);
  // SMs of the part that was entered.
  [[nodiscard]] std::uint32_t entered_sms() const;
  // After the launch. `launched` false: the driver refused, and no other launch is confined.
  void leave(const StreamPlace& own, bool launched);

  // Before a context ends. Null: the primary one.
  void forget(Handle context);

 private:
  struct Part {
    std::uint32_t sms = 0;  // wanted
    bool tried = false;
    Handle green = nullptr;
    Handle stream = nullptr;
  };
  static constexpr std::size_t kParts = 3;

  [[nodiscard]] bool make_part(Part& part) const;
  // Blocks of the kernel that one SM takes at once; 0: not known.
  [[nodiscard]] std::uint64_t blocks_of_sm(const ConfinableLaunch& launch);
  void destroy();

  int device_ = 0;
  std::uint32_t sms_ = 0;
  bool refused_ = false;
  Handle context_ = nullptr;  // the primary one, of which the parts are
  std::array<Part, kParts> parts_{};
  Part* entered_ = nullptr;
  Handle before_ = nullptr;  // events
  Handle after_ = nullptr;
  FixedTable<1024> blocks_of_sm_{};  // one more than these
};

}  // namespace carpool::interpose
