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
  JobSettings settings{};                // what the file itself says of the run
  std::optional<TrainingSetup> setup{};  // the whole run, where the file has it
  std::optional<MachineFacts> machine{};
  std::string basis{};               // empty: as the estimator calls it
  double widening = 1.0;             // factor on the bound, for what the file does not tell
  std::vector<std::string> notes{};  // what was assumed or left out
};

}  // namespace carpool::estimate
