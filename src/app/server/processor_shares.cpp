#include "app/server/processor_shares.hpp"

#include <algorithm>
#include <thread>

namespace carpool::app {
namespace {

// A start-up keeps one to two processors busy.
constexpr std::size_t kProcessorsEach = 2;
// Jobs that a GPU usually runs at a time, where jobs share.
constexpr std::size_t kJobsPerGpu = 4;

}  // namespace

std::size_t usable_processors() {
  return std::max(std::thread::hardware_concurrency(), 1U);
}

std::size_t most_starting(std::size_t processors) {
  return std::max<std::size_t>(processors / kProcessorsEach, 2);
}

unsigned openmp_threads(std::size_t processors, std::size_t gpus) {
  const std::size_t jobs = kJobsPerGpu * std::max<std::size_t>(gpus, 1);
  return static_cast<unsigned>(std::max<std::size_t>(processors / jobs, 1));
}

}  // namespace carpool::app
