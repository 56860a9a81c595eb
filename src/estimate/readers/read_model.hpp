// What a reader found in a file that describes a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/readers/job_settings.hpp"

namespace carpool::estimate {

struct ReadModel {
  ModelDescription model{};
  JobSettings settings{};                // of the run, as far as the file states them
  std::optional<TrainingSetup> setup{};  // the complete run, where the file has it
  std::optional<MachineFacts> machine{};
  std::string basis{};               // empty: that of the estimator
  double widening = 1.0;             // factor on the bound, for what the file lacks
  std::vector<std::string> notes{};  // what was assumed or left out
};

}  // namespace carpool::estimate
