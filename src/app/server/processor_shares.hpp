// How jobs share the processors of the machine: how many start at once, and the OpenMP threads of
// each. By default OpenMP runs a thread for each processor, and its threads wait by spinning:
// programs that start at once keep each other from starting (docs/placement.md, "Start-up").
#pragma once

#include <cstddef>

namespace carpool::app {

// Processors that this process may use.
[[nodiscard]] std::size_t usable_processors();

[[nodiscard]] std::size_t most_starting(std::size_t processors);

// Of a job that shares a GPU.
[[nodiscard]] unsigned openmp_threads(std::size_t processors, std::size_t gpus);

}  // namespace carpool::app
