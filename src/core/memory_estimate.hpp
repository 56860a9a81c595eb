// The GPU memory that a job will need. All sizes are bytes on one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace carpool {

// The parts add up to the expected peak.
struct MemoryBreakdown {
  std::int64_t context = 0;  // driver, libraries, kernels: what a process holds before any tensor
  std::int64_t weights = 0;  // parameters, buffers and 16-bit copies of them
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;  // its states and temporaries
  std::int64_t activations =
      0;  // inputs, outputs kept for backward, their gradients, key/value cache
  std::int64_t workspace = 0;  // of matrix products and convolutions
  // Memory that the caching allocator holds beyond the tensors, and the learned correction, which
  // may be negative.
  std::int64_t allocator_slack = 0;

  [[nodiscard]] std::int64_t total() const {
    return context + weights + gradients + optimizer + activations + workspace + allocator_slack;
  }
};

// One change of the job and the expected memory with it.
struct MemoryLever {
  std::string change{};  // "batch 16 instead of 32"
  std::int64_t expected = 0;
};

struct MemoryEstimate {
  std::int64_t expected = 0;
  std::int64_t upper = 0;    // not exceeded with this confidence; never below expected
  double confidence = 0.99;  // of the upper bound, 0 to 1
  std::string basis{};       // its source: "layers", "config", "history", …
  MemoryBreakdown breakdown{};
  std::vector<std::string> notes{};  // what was assumed, left out or unknown
};

}  // namespace carpool
