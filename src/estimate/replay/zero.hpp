// DeepSpeed's ZeRO by formula: which parts of the states the GPUs share among them.
#pragma once

#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

// Takes off what other GPUs hold: from stage 1 the optimizer's states, from 2 the gradients, at 3
// the weights; adds the buffer that gradients are reduced in (at most 5e8 elements) and, at stage
// 3, the weights that are gathered for the layer at work and the next. Nothing on one GPU.
void share_states(const DescribedJob& job, const ReplayResult& replay, MemoryEstimate& estimate);

}  // namespace carpool::estimate
