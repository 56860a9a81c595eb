// The memory estimate of one job as a table and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"
#include "app/inputs/past_jobs.hpp"
#include "core/described_job.hpp"
#include "core/memory_estimate.hpp"

namespace carpool::app {

struct FittingBatch {
  std::int64_t memory = 0;                // bytes
  std::optional<std::int64_t> largest{};  // absent: a single sample does not fit
};

struct JobMemoryListing {
  std::string what{};  // the file or the command
  std::string run{};   // how it runs
  const MemoryEstimate& estimate;
  std::vector<MemoryLever> levers{};
  std::optional<FittingBatch> fits{};
  // The earlier runs that the estimate is based on. They were measured as a whole: no breakdown.
  std::vector<estimate::SimilarRun> history{};
};

// "training, batch 8, bf16, 1024 tokens, AdamW"
[[nodiscard]] std::string spoken_setup(const TrainingSetup& setup);
// "batch 8, from earlier runs"
[[nodiscard]] std::string spoken_history(const HistoryAnswer& answer);

[[nodiscard]] nlohmann::json job_memory_to_json(const JobMemoryListing& listing);
void print_job_memory(const JobMemoryListing& listing, const Output& output);

}  // namespace carpool::app
