// One request for each of several jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {

// What a command does with each of its jobs.
struct JobAction {
  // Asks the server.
  std::function<Result<nlohmann::json>(ServerClient&, std::int64_t job)> ask;
  // What people see of the answers, in their order.
  std::function<std::string(const nlohmann::json& answers, const std::vector<std::int64_t>& jobs)>
      text;
  const char* states = "active";              // of the jobs that --name and --all-mine mean
  const char* which = "that have not ended";  // the same, for the help
  bool remarks = false;                       // the text says only what was done
};

// Prints what the server says about jobs; `path` is below that of a job.
[[nodiscard]] JobAction reading_action(const char* path,
                                       std::function<std::string(const nlohmann::json&)> text);

// An error of one job does not keep the others from being dealt with, unless the server is gone.
[[nodiscard]] Result<void> act_on_jobs(ServerClient& server,
                                       const JobChoice& choice,
                                       const JobAction& action,
                                       const CommandContext& context);

// "job 17", "jobs 3-7, 9"
[[nodiscard]] std::string jobs_text(const std::vector<std::int64_t>& jobs);

}  // namespace carpool::app
