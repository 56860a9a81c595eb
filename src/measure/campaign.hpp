// Measures a whole plan, resuming where the last run ended.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "measure/cells.hpp"
#include "measure/journal.hpp"
#include "measure/plan.hpp"

namespace carpool::measure {

struct CampaignOptions {
  std::filesystem::path folder;         // of the dataset
  std::filesystem::path scratch;        // an empty folder for temporary files
  std::filesystem::path mps_folder;     // for an MPS daemon
  std::optional<double> limit_seconds;  // no window starts after this time
  bool retry_failed = false;
};

struct CampaignEvents {
  std::function<void(std::size_t windows)> planned;       // remaining; called once
  std::function<void(const std::string& what)> starting;  // workers, which takes a while
  std::function<void(const Measurement&)> measured;
  std::function<bool()> stop;  // polled; true abandons the current window
};

struct CampaignOutcome {
  std::size_t planned = 0;
  std::size_t done = 0;      // including earlier runs
  std::size_t failed = 0;    // of `done`, at the last attempt
  std::size_t measured = 0;  // in this run
  bool stopped = false;      // by a signal or the limit
};

// The cells that are missing from the journal or, with `retry_failed`, failed there.
[[nodiscard]] std::vector<Cell> remaining(const Plan& plan,
                                          std::span<const Measurement> measurements,
                                          bool retry_failed);

// Measures the remaining cells and writes the tables, also when it is stopped early.
[[nodiscard]] Result<CampaignOutcome> run_campaign(const Plan& plan,
                                                   const CampaignOptions& options,
                                                   TelemetrySource& telemetry,
                                                   const CampaignEvents& events);

}  // namespace carpool::measure
