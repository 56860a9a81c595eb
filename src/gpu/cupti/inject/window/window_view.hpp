// The library's side of the window file (window_format.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cupti/window_format.hpp"

namespace carpool::gpu::inject {

// Used by one thread.
class WindowView {
 public:
  // False: there is no such file, or it is none of this release.
  [[nodiscard]] bool open(const std::string& path);

  struct Order {
    std::uint32_t number = 0;
    std::uint32_t length_ms = 0;
    std::int64_t start_ns = 0;
    window_format::Kind kind = window_format::Kind::Launches;
  };
  [[nodiscard]] Order order() const;

  struct Answer {
    window_format::State state = window_format::State::None;
    std::int32_t code = 0;
    std::uint64_t launches = 0;
    std::int64_t over_ns = 0;
    window_format::Kernels kernels{};
  };
  void answer(std::uint32_t window, const Answer& answer);
  // Frees the slot of this process.
  void leave();

 private:
  [[nodiscard]] window_format::Slot* take_slot();

  window_format::Block* block_ = nullptr;  // stays mapped until the process ends
  window_format::Slot* slot_ = nullptr;    // taken with the first answer
};

}  // namespace carpool::gpu::inject
