#include "estimate/replay/parameter_memory.hpp"

#include <algorithm>

#include "base/text/memory_size.hpp"
#include "estimate/replay/allocation_chunks.hpp"

namespace carpool::estimate {
namespace {

constexpr std::int64_t kBucketBytes = 25 * kMiB;  // of DistributedDataParallel

}  // namespace

OptimizerTraits optimizer_traits(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return {};
    case Optimizer::Momentum:
      return {.states = 1};
    case Optimizer::Adam:
      return {.states = 2, .foreach_temporaries = 1};
    case Optimizer::AdamFused:
      return {.states = 2};
    case Optimizer::AdamSingle:
      return {.states = 2, .single_temporaries = 2};
    case Optimizer::RmsProp:
      return {.states = 1, .foreach_temporaries = 1};
    case Optimizer::Adagrad:
      return {.states = 1, .states_at_start = true, .foreach_temporaries = 2};
  }
  return {};
}

void ParameterMemory::make_weights(const ForwardModel& model) {
  if (model.untied_head_elements() > 0 && setup_.built_on_gpu) {
    make_untied_head(model);
  }
  const unsigned bytes = sizes_of(setup_.precision).parameter;
  const bool converts = bytes == 2 && setup_.built_on_gpu;
  AllocationChunks made;
  for (const ParameterSpec& spec : model.parameters()) {
    made.add(times(spec.elements, converts ? 4 : bytes));
  }
  const Blocks blocks = allocate_all(made.sizes(), MemoryPurpose::Weights);
  for (std::size_t index = 0; converts && index < blocks.size(); ++index) {
    tape_.permanent(made.sizes()[index] / 2, MemoryPurpose::Weights);
    tape_.allocator().release(blocks[index]);
  }
  AllocationChunks trained;
  for (const TapeParameter& parameter : tape_.parameters()) {
    if (parameter.trained) {
      trained.add(times(parameter.elements, parameter.bytes));
    }
  }
  trained_ = trained.sizes();
}

// All parameters are allocated once with the head that is tied to the embedding afterwards.
void ParameterMemory::make_untied_head(const ForwardModel& model) {
  AllocationChunks before_tying;
  for (const ParameterSpec& spec : model.parameters()) {
    if (setup_.lora_rank == 0 || spec.role != ParameterRole::Trained) {
      before_tying.add(times(spec.elements, 4));  // adapters are added later
    }
  }
  before_tying.add(times(model.untied_head_elements(), 4));
  release_all(allocate_all(before_tying.sizes(), MemoryPurpose::Weights));
}

// The buckets together are as large as the gradients.
void ParameterMemory::add_buckets() {
  if (setup_.gpus < 2 || setup_.zero_stage > 0) {
    return;
  }
  std::int64_t rest = 0;
  for (const TapeParameter& parameter : tape_.parameters()) {
    rest = plus(rest, parameter.trained ? times(parameter.elements, parameter.bytes) : 0);
  }
  for (; rest > 0; rest -= kBucketBytes) {
    tape_.permanent(std::min(rest, kBucketBytes), MemoryPurpose::Gradients);
  }
}

void ParameterMemory::make_states() {
  for (const std::int64_t bytes : trained_) {
    for (int state = 0; state < optimizer_.states; ++state) {
      tape_.permanent(bytes, MemoryPurpose::Optimizer);
    }
  }
}

void ParameterMemory::step_optimizer(bool first) {
  if (first && !optimizer_.states_at_start) {
    make_states();
  }
  std::vector<Blocks> at_once;
  at_once.reserve(static_cast<std::size_t>(optimizer_.foreach_temporaries));
  for (int pass = 0; pass < optimizer_.foreach_temporaries; ++pass) {
    at_once.push_back(allocate_all(trained_, MemoryPurpose::Optimizer));
  }
  for (const Blocks& blocks : at_once) {
    release_all(blocks);
  }
  for (const std::int64_t bytes : trained_) {
    const std::vector<std::int64_t> in_turn(static_cast<std::size_t>(optimizer_.single_temporaries),
                                            bytes);
    release_all(allocate_all(in_turn, MemoryPurpose::Optimizer));
  }
}

ParameterMemory::Blocks ParameterMemory::allocate_all(std::span<const std::int64_t> sizes,
                                                      MemoryPurpose use) {
  Blocks blocks;
  blocks.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) {
    blocks.push_back(tape_.allocator().allocate(bytes, use));
  }
  return blocks;
}

void ParameterMemory::release_all(const Blocks& blocks) {
  for (const CachingAllocator::Block block : blocks) {
    tape_.allocator().release(block);
  }
}

}  // namespace carpool::estimate
