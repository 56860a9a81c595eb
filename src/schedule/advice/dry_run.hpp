// What a submission would lead to: where the job would start, beside whom and how fast, or why it
// would wait and for how long at least.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schedule/advice/arrival.hpp"
#include "schedule/explain.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

// A job on the GPU where the submitted one would start.
struct Neighbour {
  JobId job = 0;
  bool paused = false;  // it stands still now: no prediction
  std::optional<ProgressForecast> now{};
  std::optional<ProgressForecast> then{};  // beside the submitted job
};

struct DryRun {
  Arrival arrival{};
  std::string memory{};    // what is believed of its need, in words
  std::string activity{};  // the same of its share of a GPU
  std::vector<Neighbour> neighbours{};
  std::optional<ProgressForecast> speed{};  // of the job, where it would have neighbours
  // Of a job that would wait.
  std::vector<CandidateGpu> candidates{};
  std::vector<StartingChange> changes{};
};

// Does not change the scheduler. An error: the job would be refused. has_place() is not asked.
[[nodiscard]] Result<DryRun> dry_run(const Scheduler& scheduler,
                                     const JobSpec& spec,
                                     const JobOwner& owner,
                                     bool hold);

}  // namespace carpool::schedule
