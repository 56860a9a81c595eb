// What is known of one job's memory, for people and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/output.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/readers/described.hpp"

namespace carpool {

struct FittingBatch {
  std::int64_t memory = 0;                // bytes
  std::optional<std::int64_t> largest{};  // absent: not even one sample fits
};

struct JobMemoryListing {
  std::string what{};  // the file or the command
  const AskedJob& asked;
  const MemoryEstimate& estimate;
  std::vector<MemoryLever> levers{};
  std::optional<FittingBatch> fits{};
};

[[nodiscard]] nlohmann::json job_memory_to_json(const JobMemoryListing& listing);
void print_job_memory(const JobMemoryListing& listing, const Output& output);

}  // namespace carpool
