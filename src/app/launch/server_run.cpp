#include "app/launch/server_run.hpp"

#include <chrono>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/inputs/job_request.hpp"
#include "app/inputs/submit_memory.hpp"
#include "app/launch/job_keeper.hpp"
#include "app/launch/pty_session.hpp"
#include "app/launch/server_note.hpp"
#include "app/launch/watched_job.hpp"
#include "app/remote/remote_access.hpp"
#include "app/server/job_output.hpp"
#include "app/server/job_wait.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "core/workload_identity.hpp"
#include "serve/job_request.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

bool is_named(const ServerOptions& options) {
  const char* const variable = std::getenv("CARPOOL_SOCKET");
  return options.socket || (variable != nullptr && *variable != '\0');
}

// Waits for an attempt. Nothing: the job has ended without it.
Result<std::optional<JobOutput>> output_of_attempt(WatchedJob& job, unsigned attempt) {
  while (true) {
    const Result<json> now = job.look();
    if (!now) {
      return tl::unexpected(now.error());
    }
    if (now->at("attempts").size() >= attempt) {
      return JobOutput(job.id(), attempt, {.to = stdout}, {.to = stderr});
    }
    if (has_ended(*now)) {
      return std::nullopt;
    }
    job.pause(WatchedJob::kLookEvery);
  }
}

// Prints the output of an attempt until it is complete.
Result<void> print_attempt(WatchedJob& job, JobOutput output) {
  constexpr double kWait = 0.5;  // for standard output, when neither stream had more
  bool came = true;
  while (came || !output.over()) {
    job.pause(std::chrono::milliseconds(0));
    const Result<bool> further =
        job.ask([&] { return output.read(job.server(), came ? 0.0 : kWait); });
    if (!further && further.error().code == ErrorCode::NotFound) {
      return {};  // none is kept: the attempt never began, or its GPU is simulated
    }
    if (!further) {
      return tl::unexpected(further.error());
    }
    came = *further;
    if (!came) {
      // The job may be in the queue again.
      if (const Result<json> now = job.look(); !now) {
        return tl::unexpected(now.error());
      }
    }
  }
  return {};
}

Result<void> pass_output_on(WatchedJob& job) {
  for (unsigned attempt = 1;; ++attempt) {
    Result<std::optional<JobOutput>> output = output_of_attempt(job, attempt);
    if (!output) {
      return tl::unexpected(output.error());
    }
    if (!*output) {
      return {};
    }
    if (const Result<void> printed = print_attempt(job, std::move(**output)); !printed) {
      return printed;
    }
  }
}

// Input from a file or another program would be lost without a word.
void note_lost_input() {
  struct stat status{};
  if (::fstat(STDIN_FILENO, &status) == 0 &&
      (S_ISFIFO(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size > 0))) {
    log_info("standard input does not reach a job; let the program open the file itself");
  }
}

// The job runs the relay, but has the name and the workload of the program.
Result<void> put_relay(json& request, const PtyListener& listener) {
  const Result<std::vector<JobSpec>> jobs = serve::parse_job_request(
      request.dump(-1, ' ', false, json::error_handler_t::replace), epoch_seconds());
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  const JobSpec& spec = jobs->front();
  request["name"] = spec.name.empty() ? serve::default_name(spec.argv) : spec.name;
  request["workload"] = workload_key(spec);
  if (const char* const terminal = std::getenv("TERM"); terminal != nullptr) {
    request["env"].emplace("TERM", terminal);
  }
  return listener.command_for(spec.argv).map(
      [&](const std::vector<std::string>& command) { request["argv"] = command; });
}

Result<json> request_of(const ServerRun& run) {
  const bool from_afar = remote_host(run.server).has_value();
  if (from_afar && run.pty) {
    return invalid_input(
        "--pty reaches jobs of this machine only: leave CARPOOL_HOST out, or use ssh -t");
  }
  Result<json> request = job_request(run.command, run.job, from_afar);
  if (request &&
      (request->contains("array") || request->contains("params") || request->contains(kHoldKey))) {
    return invalid_input(fmt::format(
        "{} asks for an array or a held job, which cannot be watched: use carpool submit",
        run.command.front()));
  }
  return request;
}

}  // namespace

Result<std::optional<ServerClient>> answering_server(const ServerOptions& options) {
  Result<ServerClient> server = ServerClient::connect(options);
  if (server) {
    if (const Result<json> alive = server->get("/v1/status"); !alive) {
      server = tl::unexpected(alive.error());
    }
  }
  if (server) {
    return std::optional(std::move(*server));
  }
  if (server.error().code == ErrorCode::Unavailable && !is_named(options)) {
    return std::nullopt;
  }
  Error problem = std::move(server.error());
  problem.message += "; --no-server runs the program without one";
  return tl::unexpected(std::move(problem));
}

Result<void> run_as_job(ServerClient& server, const ServerRun& run, const CommandContext& context) {
  Result<json> request = request_of(run);
  if (!request) {
    return tl::unexpected(request.error());
  }
  if (run.pty && ::isatty(STDIN_FILENO) != 1) {
    return invalid_input(
        "--pty needs a terminal, and standard input is not one: leave --pty out, or use carpool "
        "submit");
  }
  const Result<std::string> estimated = put_estimated_memory(*request, run.server);
  if (!estimated) {
    return tl::unexpected(estimated.error());
  }
  std::optional<PtyListener> listener;
  if (run.pty) {
    Result<PtyListener> opened = PtyListener::open();
    if (!opened) {
      return tl::unexpected(opened.error());
    }
    listener.emplace(std::move(*opened));
    if (const Result<void> put = put_relay(*request, *listener); !put) {
      return put;
    }
  } else {
    note_lost_input();
  }
  WatchedJob job(server);
  Result<JobKeeper> keeper = JobKeeper::start({.socket = server_socket(run.server).string()});
  if (!keeper) {
    return tl::unexpected(keeper.error());
  }
  if (const Result<void> submitted = job.submit(*request); !submitted) {
    return submitted;
  }
  keeper->keep(job.id());
  note_shortcoming(server, *request);
  const Result<void> passed = listener ? serve_terminal(job, *listener) : pass_output_on(job);
  keeper->release();
  if (!passed) {
    Error problem = passed.error();
    problem.message += fmt::format("; job {0} goes on: carpool logs -f {0}", job.id());
    return tl::unexpected(std::move(problem));
  }
  static_cast<void>(wait_for_jobs(server, {job.id()}, std::nullopt, context));
  return {};
}

}  // namespace carpool::app
