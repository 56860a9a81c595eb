// Memory estimators of others, as their papers or programs give them. Each leaves out what its
// authors leave out. Those that count the context take `fallback_context` bytes where the machine
// has none measured; nothing else is fitted.
#pragma once

#include <cstdint>
#include <memory>

#include "core/memory_estimator.hpp"

namespace carpool::estimate {

// Horus: 4 (A b + P + b P) bytes; A outputs of one sample, P parameters, b batch. No optimizer, no
// context.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_horus();

// FakeTensor: the most that is live in one forward and backward pass on tensors without memory;
// parameters, optimizer, context, workspaces and the allocator are left out. Needs what a trace
// tells; without one, the layers stand in.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_faketensor();

// DeepSpeed: model states alone. ZeRO 2: 4 P + 16 P / GPUs; ZeRO 3: 4 x largest layer + 18 P /
// GPUs; without ZeRO as stage 2 on one GPU.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_deepspeed();

// LLMem: context + 16 P of states (2-byte parameters and gradients, 12 bytes of optimizer) +
// outputs of the blocks + the head's logits in 16 and 32 bits. Fine-tuning of decoders only.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_llmem(std::int64_t fallback_context);

// DNNMem: weights, their gradients, states, every operator's output until backward has passed it,
// the two largest gradients of outputs in flight, each rounded as the framework's allocator does,
// and the context.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_dnnmem(std::int64_t fallback_context);

}  // namespace carpool::estimate
