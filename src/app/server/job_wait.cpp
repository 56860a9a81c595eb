#include "app/server/job_wait.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/exit_code.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr double kOneRequest = 30.0;

Result<json> ask(ServerClient& server, std::int64_t job, double wait_s) {
  return ask_through_restart(
      [&] { return server.get(fmt::format("/v1/jobs/{}/wait?wait_s={:.3f}", job, wait_s)); },
      [](std::chrono::seconds span) { pause_for(span); });
}

// The job when it has ended, or as it is when the limit has passed.
Result<json> wait_for_job(ServerClient& server,
                          std::int64_t id,
                          std::optional<double> limit_s,
                          const Stopwatch& watch) {
  while (true) {
    const double left = limit_s ? std::max(0.0, *limit_s - watch.seconds()) : kOneRequest;
    Result<json> job = ask(server, id, std::min(left, kOneRequest));
    if (!job || job->contains("ended_s") || (limit_s && watch.seconds() >= *limit_s)) {
      return job;
    }
  }
}

}  // namespace

int shell_code(const json& job) {
  if (job.value("state", "") == "succeeded") {
    return kExitOk;
  }
  if (job.contains("signal")) {
    constexpr int kBySignal = 128;
    return kBySignal + job.at("signal").get<int>();
  }
  const int code = job.value("exit_code", kExitFailure);
  return code == 0 ? kExitFailure : code;  // cancelled after it had succeeded
}

json wait_for_jobs(ServerClient& server,
                   const std::vector<std::int64_t>& jobs,
                   std::optional<double> limit_s,
                   const CommandContext& context) {
  const Stopwatch watch;
  json waited = json::array();
  for (const std::int64_t id : jobs) {
    const Result<json> found = wait_for_job(server, id, limit_s, watch);
    if (!found) {
      note_problem(found.error(), context);
      if (found.error().code == ErrorCode::Unavailable) {
        return waited;
      }
      continue;
    }
    const json& job = *found;
    if (!job.contains("ended_s")) {
      context.exit_code = kExitNotYet;
      waited.push_back({{"id", id}, {"state", job.value("state", "")}});
      return waited;
    }
    context.exit_code = std::max(context.exit_code, shell_code(job));
    waited.push_back({{"id", id},
                      {"state", job.value("state", "")},
                      {"end", job.value("end", "")},
                      {"exit_code", shell_code(job)},
                      {"reason", job.value("reason", "")}});
    if (!context.output.json() && job.value("state", "") != "succeeded") {
      print_message(
          fmt::format("job {} {}: {}", id, job.value("state", "ended"), job.value("reason", "")));
    }
  }
  return waited;
}

}  // namespace carpool::app
