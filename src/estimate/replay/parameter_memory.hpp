// Memory for the parameters of a model: weights and buffers, the buckets of data parallelism,
// states and temporaries of the optimizer. Internal to estimate/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

// Copies of the parameters that an optimizer holds (states) and that a step allocates for its
// duration, for all tensors at once (foreach) or for one tensor after the other.
struct OptimizerTraits {
  int states = 0;
  bool states_at_start = false;  // made with the optimizer, not in the first step
  int foreach_temporaries = 0;
  int single_temporaries = 0;
};

[[nodiscard]] OptimizerTraits optimizer_traits(Optimizer optimizer);

class ParameterMemory {
 public:
  ParameterMemory(Tape& tape, const TrainingSetup& setup)
      : tape_(tape), setup_(setup), optimizer_(optimizer_traits(setup.optimizer)) {}

  // Parameters and buffers; converted from 32 to 16 bits on the GPU where the setup says so.
  void make_weights(const ForwardModel& model);
  // The buckets of plain data parallelism; after make_weights().
  void add_buckets();

  // Allocates the states of an optimizer that makes them before its first step.
  void start_optimizer() {
    if (optimizer_.states_at_start) {
      make_states();
    }
  }
  void step_optimizer(bool first);

 private:
  using Blocks = std::vector<CachingAllocator::Block>;

  void make_untied_head(const ForwardModel& model);
  void make_states();
  [[nodiscard]] Blocks allocate_all(std::span<const std::int64_t> sizes, MemoryPurpose use);
  void release_all(const Blocks& blocks);

  Tape& tape_;
  const TrainingSetup& setup_;
  OptimizerTraits optimizer_;
  std::vector<std::int64_t> trained_;  // bytes of trained parameters, small ones joined
};

}  // namespace carpool::estimate
