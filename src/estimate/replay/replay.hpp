// Replays the first steps of a described job: the GPU memory that it holds, without the context.
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
  bool convolutions = false;       // cuDNN chooses workspaces
  std::size_t unknown_layers = 0;  // of no known type, counted as copies
  double unseen_parameters = 0.0;  // share of the parameters that no layer of the list owns
};

// Refuses sizes that no job has.
[[nodiscard]] Result<void> check_job(const DescribedJob& job);
[[nodiscard]] Result<JobReplay> replay_job(const DescribedJob& job, const ReplaySettings& settings);

// For a model of which only totals are known: the sum of parameters, gradients, optimizer states
// and kept activations.
[[nodiscard]] ReplayResult add_up_totals(const ModelTotals& totals, const TrainingSetup& setup);

}  // namespace carpool::estimate
