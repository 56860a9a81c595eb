// How jobs share the processors of the machine: how many start at once, and the OpenMP threads of
// each. Python programs keep the processors busy while they start, and OpenMP runs a thread for
// each processor that waits by spinning: ten programs that start at once on 16 processors need 20 s
// with that default and 10 s with 4 threads each (docs/placement.md, "Start-up").
#pragma once

#include <cstddef>

namespace carpool::app {

// Processors that this process may use.
[[nodiscard]] std::size_t usable_processors();

[[nodiscard]] std::size_t most_starting(std::size_t processors);

// Of a job that shares a GPU.
[[nodiscard]] unsigned openmp_threads(std::size_t processors, std::size_t gpus);

}  // namespace carpool::app
