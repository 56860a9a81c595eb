// Published memory estimators, as their papers or programs define them, with their omissions.
// Estimators that count the context use `fallback_context` bytes where the machine has no measured
// one. They have no fitted parameters.
#pragma once

#include <cstdint>
#include <memory>

#include "core/memory_estimator.hpp"

namespace carpool::estimate {

// Horus: 4 (A b + P + b P) bytes; A outputs of one sample, P parameters, b batch. No optimizer, no
// context.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_horus();

// FakeTensor: peak of live tensors in one forward and backward pass; parameters, optimizer,
// context, workspaces and the allocator are left out. Derived from the layers in place of a trace.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_faketensor();

// DeepSpeed: model states only. ZeRO 2: 4 P + 16 P / GPUs; ZeRO 3: 4 x largest layer + 18 P /
// GPUs; without ZeRO as stage 2 on one GPU.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_deepspeed();

// LLMem: context + 16 P of states (2-byte parameters and gradients, 12 bytes of optimizer) +
// outputs of the blocks + the head's logits in 16 and 32 bits. Fine-tuning of decoders only.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_llmem(std::int64_t fallback_context);

// DNNMem: weights, gradients, optimizer states, the outputs of all operators, the two largest
// consecutive gradients of outputs, each rounded as the allocator does, and the context.
[[nodiscard]] std::unique_ptr<MemoryEstimator> make_dnnmem(std::int64_t fallback_context);

}  // namespace carpool::estimate
