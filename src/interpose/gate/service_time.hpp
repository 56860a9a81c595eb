// How long requests take once they have begun, without their time in a queue.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// Mean and mean square of the last requests, which tell how long others wait for them. The first
// ones of a program load its kernels, and tell nothing.
class ServiceTime {
 public:
  void add(Nanoseconds time);
  // 0: not known.
  [[nodiscard]] std::uint64_t mean_ns() const;
  [[nodiscard]] std::uint64_t mean_square_us2() const;

 private:
  std::uint32_t added_ = 0;
  float mean_us_ = 0.0F;
  float square_us2_ = 0.0F;
};

}  // namespace carpool::interpose::gate
