#include "stopwatch.hpp"

#include <chrono>
#include <ctime>

namespace carpool {
namespace {

double processor_seconds() {
  std::timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Timing time_calls(const std::function<double()>& call, double at_least_s) {
  [[maybe_unused]] volatile double kept = 0.0;
  for (std::size_t calls = 1;; calls *= 2) {
    const auto started = std::chrono::steady_clock::now();
    const double cpu_started = processor_seconds();
    for (std::size_t i = 0; i < calls; ++i) {
      kept = call();
    }
    const double cpu = processor_seconds() - cpu_started;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    if (cpu >= at_least_s) {
      const auto count = static_cast<double>(calls);
      return {.cpu_s = cpu / count, .wall_s = wall.count() / count, .calls = calls};
    }
  }
}

}  // namespace carpool
