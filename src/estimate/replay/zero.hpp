// DeepSpeed's ZeRO by formula: which states are partitioned over the GPUs.
#pragma once

#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

// Divides by the number of GPUs, from stage 1 the optimizer states, from stage 2 the gradients, at
// stage 3 the weights. Adds the buffer in which gradients are reduced (at most 5e8 elements) and,
// at stage 3, the weights gathered for the current layer and the next. Changes nothing on one GPU.
void share_states(const DescribedJob& job, const ReplayResult& replay, MemoryEstimate& estimate);

}  // namespace carpool::estimate
