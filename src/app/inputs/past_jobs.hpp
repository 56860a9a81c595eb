// Memory estimates from the caller's earlier jobs, which the server keeps in its history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/shared_options.hpp"
#include "base/result.hpp"
#include "estimate/history/past_commands.hpp"

namespace carpool::app {

// The jobs in a response of /v1/history?commands=1. Entries of another shape are skipped: estimates
// also work without a history, so a server of another version is not an error.
[[nodiscard]] std::vector<estimate::PastCommand> past_commands_from(const nlohmann::json& answer);

// The folder as `carpool submit` sends it: absolute; the current one if empty.
[[nodiscard]] std::string job_folder(const std::string& folder);

struct HistoryAnswer {
  estimate::SimilarRuns like{};
  estimate::PastEstimate past{};
};

// The estimate from the latest jobs. The error states why there is none: no server, too few runs, …
[[nodiscard]] Result<HistoryAnswer> ask_history(const ServerOptions& server,
                                                const estimate::HistoryRequest& question);

}  // namespace carpool::app
