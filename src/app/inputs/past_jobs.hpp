// What the server remembers of the caller's own jobs, for estimates of their memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/job_options.hpp"
#include "base/result.hpp"
#include "estimate/history/past_commands.hpp"

namespace carpool::app {

// Of an answer of /v1/history?commands=1. Entries of another shape are passed over: a server of
// another version is no reason to fail, as estimates go on without it.
[[nodiscard]] std::vector<estimate::PastCommand> past_commands_from(const nlohmann::json& answer);

// As submit writes where a job runs; empty: here.
[[nodiscard]] std::string job_folder(const std::string& folder);

struct HistoryAnswer {
  estimate::SimilarRuns like{};
  estimate::PastEstimate past{};
};

// Estimates from the latest jobs. Errors say why not: no server, too few runs, …
[[nodiscard]] Result<HistoryAnswer> ask_history(const ServerOptions& server,
                                                const estimate::HistoryRequest& question);

}  // namespace carpool::app
