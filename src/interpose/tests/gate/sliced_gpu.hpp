// A GPU whose time is sliced between a program that serves requests and one that trains.
#pragma once

#include <cstdint>

#include "interpose/gate/launch_phase.hpp"

namespace carpool::interpose::gate {

struct LaunchingProgram {
  std::uint32_t commands = 0;   // of a request
  Nanoseconds each_launch = 0;  // time of the host
  Nanoseconds each_kernel = 0;  // time of the GPU
  std::uint32_t parts = 1;      // each of which it waits for
  bool looks_between = false;   // it also waits for two short kernels before each of them
};

struct ServedRequest {
  Nanoseconds waited = 0;
  Nanoseconds open = 0;  // time in which best-effort work could run
  Nanoseconds took = 0;
};

// The other program always has kernels of a millisecond. While both have work, each of them gets
// 2 ms in turn.
class SlicedGpu {
 public:
  SlicedGpu(const LaunchingProgram& program, Nanoseconds tail) : program_(program), tail_(tail) {}

  ServedRequest serve(LaunchPhase& phase);

 private:
  void serve_part(LaunchPhase& phase, std::uint32_t commands, ServedRequest& served);
  void tick(bool open, ServedRequest& served);

  LaunchingProgram program_;
  Nanoseconds tail_;
  Nanoseconds now_ = kSecond;
  Nanoseconds backlog_ = 0;
  Nanoseconds slice_ends_ = 0;  // of the other program
  Nanoseconds own_ends_ = 0;    // the slice after it
};

// Of many requests of a program.
struct LaunchPhaseResult {
  Nanoseconds alone = 0;   // long waits of the first requests
  Nanoseconds beside = 0;  // long waits of the last ones
  Nanoseconds open_first = 0;
  double open = 0.0;  // share of the last requests
};
LaunchPhaseResult serve_many(const LaunchingProgram& program, Nanoseconds slo, Nanoseconds tail);

}  // namespace carpool::interpose::gate
