// A whole plan, from where the last run left off.
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
  std::filesystem::path scratch;        // an empty folder of ours
  std::filesystem::path mps_folder;     // where an MPS daemon may live
  std::optional<double> limit_seconds;  // no window is begun after that
  bool retry_failed = false;
};

struct CampaignEvents {
  std::function<void(std::size_t windows)> planned;       // still to do, told once
  std::function<void(const std::string& what)> starting;  // workers: this takes a while
  std::function<void(const Measurement&)> measured;
  std::function<bool()> stop;  // asked again and again; a window under way is then given up
};

struct CampaignOutcome {
  std::size_t planned = 0;
  std::size_t done = 0;      // with those of earlier runs
  std::size_t failed = 0;    // of those done, at the last attempt
  std::size_t measured = 0;  // in this run
  bool stopped = false;      // by a signal or the limit
};

// What is still to do: cells that the journal does not know (or, asked to retry, knows as failed).
[[nodiscard]] std::vector<Cell> remaining(const Plan& plan,
                                          std::span<const Measurement> measurements,
                                          bool retry_failed);

// Measures what remains, then writes the tables, also when it is stopped before the end.
[[nodiscard]] Result<CampaignOutcome> run_campaign(const Plan& plan,
                                                   const CampaignOptions& options,
                                                   TelemetrySource& telemetry,
                                                   const CampaignEvents& events);

}  // namespace carpool::measure
