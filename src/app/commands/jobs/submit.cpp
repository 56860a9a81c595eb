#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/job_settings.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_environment.hpp"
#include "app/inputs/job_file.hpp"
#include "app/inputs/past_jobs.hpp"
#include "app/inputs/program_check.hpp"
#include "app/inputs/submit_memory.hpp"
#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"
#include "core/resource_limits.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct SubmitOptions {
  ServerOptions server;
  std::vector<std::string> command;
  JobSettings job;
  bool wait = false;
  bool parsable = false;
};

void add_submit_options(OptionSet& options, SubmitOptions& submit) {
  options.program("command",
                  submit.command,
                  "COMMAND",
                  "Program and its arguments behind --, JOB.toml, TASK.rad, or a script with "
                  "#CARPOOL lines; options of carpool come before it");
  add_job_settings(options, submit.job);
  options.flag("--wait", submit.wait, "Wait until the job has ended and return its exit code");
  options.flag("--parsable", submit.parsable, "Print only the number of the job");
  add_socket(options, submit.server);
}

// Of a request here; the server has it in the address.
constexpr const char* kHoldKey = "hold";

template <class T>
void put(json& job, const char* key, const std::optional<T>& value) {
  if (value) {
    job[key] = *value;
  }
}

Result<void> put_seconds(json& job, const char* key, const std::optional<std::string>& text) {
  if (!text) {
    return {};
  }
  return serve::parse_seconds(*text).map([&](double seconds) { job[key] = seconds; });
}

// The keys of the options that were given, and no other.
Result<json> request_from(const JobSettings& options) {
  json job = json::object();
  put(job, "name", options.name);
  put(job, "gpus", options.gpus);
  put(job, "gpu_type", options.gpu_type);
  put(job, "begin", options.begin);
  put(job, "mem", options.mem);
  put(job, kModelKey, options.model);
  put(job, "mem_limit", options.mem_limit);
  put(job, "priority", options.priority);
  put(job, "class", options.job_class);
  put(job, "slo_ms", options.slo_ms);
  put(job, "array", options.array);
  put(job, "retries", options.retries);
  put(job, "workload", options.workload);
  put(job, "progress", options.progress);
  put(job, "cwd", options.folder);
  if (options.exclusive) {
    job["exclusive"] = true;
  }
  for (const auto& [key, jobs] : {std::pair("after", &options.after),
                                  std::pair("after_any", &options.after_any),
                                  std::pair("after_not_ok", &options.after_not_ok),
                                  std::pair("gpu", &options.gpu)}) {
    if (!jobs->empty()) {
      job[key] = *jobs;
    }
  }
  if (options.hold) {
    job[kHoldKey] = true;
  }
  Result<void> read = put_seconds(job, "time_s", options.time);
  if (read) {
    read = put_seconds(job, "runtime_s", options.runtime);
  }
  for (const std::string& variable : options.env) {
    if (read) {
      read = add_variable(job["env"], variable);
    }
  }
  return read.map([&] { return job; });
}

bool is_file(const std::string& name, std::string_view suffix) {
  std::error_code ignored;
  return name.ends_with(suffix) && std::filesystem::is_regular_file(name, ignored);
}

// The request of a script with #CARPOOL lines, and the arguments behind its name.
Result<json> request_of_script(JobScript script, const std::vector<std::string>& command) {
  Result<json> job = parse_job_settings(script.options, command.front()).and_then(request_from);
  if (job) {
    script.argv.insert(script.argv.end(), command.begin() + 1, command.end());
    (*job)["argv"] = script.argv;
    if (!job->contains("name")) {
      (*job)["name"] = std::filesystem::path(command.front()).filename().string();
    }
  }
  return job;
}

// The request of the file that is named in the place of a command; for a plain command, its argv.
Result<json> request_of_command(const std::vector<std::string>& command,
                                const std::string& folder) {
  if (command.empty()) {
    return invalid_input("no command given: name a program behind --, a job file or a script");
  }
  const std::string& first = command.front();
  const bool toml = is_file(first, ".toml");
  if (toml || is_file(first, ".rad")) {
    if (command.size() > 1) {
      return invalid_input(fmt::format(
          "{} takes no arguments: put \"{}\" before it, or remove it", first, command[1]));
    }
    return toml ? read_job_toml(first) : read_rad(first);
  }
  std::error_code ignored;
  const bool may_be_script = first.find('/') != std::string::npos || is_file(first, ".sh");
  if (may_be_script && std::filesystem::is_regular_file(first, ignored) &&
      std::filesystem::file_size(first, ignored) < (std::uintmax_t{1} << 20U)) {
    Result<JobScript> script = read_script(first);
    if (!script) {
      return tl::unexpected(script.error());
    }
    if (!script->options.empty()) {
      return request_of_script(std::move(*script), command);
    }
  }
  return check_program(first, folder).map([&] { return json{{"argv", command}}; });
}

// The job runs as if it were started from here. A file may set either differently.
void put_surroundings(json& job) {
  if (const auto mask = own_umask(); mask && !job.contains("umask")) {
    job["umask"] = umask_text(*mask);
  }
  json limits = limit_texts(own_limits());
  if (const auto given = job.find("limits"); given != job.end() && given->is_object()) {
    limits.update(*given);
  }
  job["limits"] = std::move(limits);
}

// The server may be in another time zone.
Result<void> put_begin(json& job) {
  if (!job.contains("begin") || !job.at("begin").is_string()) {
    return {};
  }
  return serve::begin_in_utc(job.at("begin").get<std::string>(), epoch_seconds())
      .map([&](const std::string& begin) { job["begin"] = begin; })
      .map_error([](const Error& error) {
        return Error{error.code, fmt::format("begin: {}", error.message)};
      });
}

// Options of the command line override those of the file.
Result<json> whole_request(const SubmitOptions& options) {
  Result<json> job =
      request_of_command(options.command, job_folder(options.job.folder.value_or("")));
  const Result<json> overrides = request_from(options.job);
  if (!job || !overrides) {
    return job ? overrides : job;
  }
  json env = options.job.clean_env ? json::object() : current_environment();
  for (const json* layer : {std::as_const(job).operator->(), overrides.operator->()}) {
    if (layer->contains("env") && layer->at("env").is_object()) {
      env.update(layer->at("env"));
    }
  }
  job->update(*overrides);
  (*job)["env"] = std::move(env);
  (*job)["cwd"] = job_folder(job->value("cwd", ""));
  put_surroundings(*job);
  if (const Result<void> put = put_begin(*job); !put) {
    return tl::unexpected(put.error());
  }
  if (job->contains("slo_ms") && job->value("class", json()) != "slo") {
    return invalid_input(
        "--slo is the latency target of a job of class slo: add --class slo, or leave --slo out");
  }
  return job;
}

std::string submitted_text(const std::vector<std::int64_t>& ids) {
  if (ids.size() == 1) {
    return fmt::format("Submitted job {}", ids.front());
  }
  return fmt::format("Submitted jobs {} to {}", ids.front(), ids.back());
}

// Takes the key out of the request.
Result<bool> take_hold(json& job) {
  const json hold = job.value(kHoldKey, json(false));
  job.erase(kHoldKey);
  return hold.is_boolean() ? Result<bool>(hold.get<bool>())
                           : invalid_input("hold: expected true or false");
}

Result<void> run_submit(const SubmitOptions& options, const CommandContext& context) {
  Result<json> job = whole_request(options);
  if (!job) {
    return tl::unexpected(job.error());
  }
  const Result<bool> hold = take_hold(*job);
  if (!hold) {
    return tl::unexpected(hold.error());
  }
  const Result<std::string> estimated = put_estimated_memory(*job, options.server);
  if (!estimated) {
    return tl::unexpected(estimated.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<json> accepted = server->post(*hold ? "/v1/jobs?hold=1" : "/v1/jobs", *job);
  if (!accepted) {
    return tl::unexpected(accepted.error());
  }
  const auto ids = accepted->at("ids").get<std::vector<std::int64_t>>();
  if (context.output.json()) {
    if (!options.wait) {
      context.output.print_json(*accepted);
    }
  } else if (options.parsable) {
    context.output.print(fmt::format("{}\n", fmt::join(ids, "\n")));
  } else {
    context.output.print(fmt::format("{}\n", submitted_text(ids)));
    if (!estimated->empty()) {
      context.output.print(fmt::format("{}\n", *estimated));
    }
  }
  if (!options.wait) {
    return {};
  }
  if (const Result<void> written = context.output.flush(); !written) {
    return written;
  }
  json waited = wait_for_jobs(*server, ids, std::nullopt, context);
  if (context.output.json()) {
    json document = *accepted;
    document["jobs"] = std::move(waited);
    context.output.print_json(document);
  }
  return {};
}

}  // namespace

CommandSpec submit_command() {
  return make_command(
      add_submit_options,
      run_submit,
      {"carpool submit -- python train.py --epochs 3",
       "carpool submit --mem 12G --time 2h --name resnet -- python train.py",
       "carpool submit --mem auto --model config.json -- python train.py --batch-size 8",
       "carpool submit --array 0-99%4 -- ./sweep.sh",
       "carpool submit --begin 22:00 --gpu-type H200 -- python train.py"},
      "With --wait the exit code is that of the job, or 128+N if signal N ended it.");
}

}  // namespace carpool::app
