// The time of one call.
#pragma once

#include <cstddef>
#include <functional>

namespace carpool {

struct Timing {
  double cpu_s = 0.0;   // processor time of one call
  double wall_s = 0.0;  // elapsed time of one call
  std::size_t calls = 0;
};

// Repeats the call until a batch of repetitions takes `at_least_s` of processor time; that batch
// counts. The result of the call keeps the compiler from removing it.
[[nodiscard]] Timing time_calls(const std::function<double()>& call, double at_least_s);

}  // namespace carpool
