// A described job to what its first steps would hold of the GPU, without the context.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

struct JobReplay {
  ReplayResult result{};
  bool convolutions = false;       // workspaces are a guess
  std::size_t unknown_layers = 0;  // of no known type, counted as copies
  double unseen_parameters = 0.0;  // share of the parameters that no layer of the list owns
};

// Sizes that no job has are refused, and so is what only totals are known of.
[[nodiscard]] Result<void> check_job(const DescribedJob& job);
[[nodiscard]] Result<JobReplay> replay_job(const DescribedJob& job, const ReplaySettings& settings);

// Bytes that a model of totals alone would need, the context left out: parameters, gradients,
// states and kept activations added up.
[[nodiscard]] ReplayResult add_up_totals(const ModelTotals& totals, const TrainingSetup& setup);

}  // namespace carpool::estimate
