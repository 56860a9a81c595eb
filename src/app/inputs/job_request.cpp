#include "app/inputs/job_request.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/inputs/job_environment.hpp"
#include "app/inputs/job_file.hpp"
#include "app/inputs/past_jobs.hpp"
#include "app/inputs/program_check.hpp"
#include "app/inputs/submit_memory.hpp"
#include "base/clock.hpp"
#include "core/latency.hpp"
#include "core/submission/param_sweep.hpp"
#include "core/submission/resource_limits.hpp"
#include "serve/units.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

template <class T>
void put_if_given(json& job, const char* key, const std::optional<T>& value) {
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

// --slo and --best-effort state the class. The policy is for the library in the program.
Result<void> put_latency(json& job, const JobSettings& options) {
  const LatencySettings& latency = options.latency;
  if (!latency.given()) {
    return {};
  }
  const char* const job_class = latency.slo ? "slo" : "best-effort";
  if (options.job_class.value_or(job_class) != job_class) {
    return invalid_input(fmt::format("{0} makes a job of class {1}: leave --class {2} out, or {0}",
                                     latency.slo ? "--slo" : "--best-effort",
                                     job_class,
                                     *options.job_class));
  }
  job["class"] = job_class;
  put_if_given(job, "quantile", latency.quantile);
  if (latency.policy) {
    job["env"][kGatePolicyVariable] = *latency.policy;
  }
  if (!latency.slo) {
    return {};
  }
  return parse_latency_ms(*latency.slo).map([&](double slo_ms) { job["slo_ms"] = slo_ms; });
}

// --env comes after --policy.
Result<void> check_same_policy(const json& job, const std::string& policy) {
  const std::string other = job.at("env").at(kGatePolicyVariable).get<std::string>();
  return other == policy ? Result<void>()
                         : invalid_input(fmt::format(
                               "--policy {} and --env {}={} differ: leave one of them out",
                               policy,
                               kGatePolicyVariable,
                               other));
}

}  // namespace

Result<json> given_settings(const JobSettings& options) {
  json job = json::object();
  put_if_given(job, "name", options.name);
  put_if_given(job, "gpus", options.gpus);
  put_if_given(job, "gpu_type", options.gpu_type);
  put_if_given(job, "begin", options.begin);
  put_if_given(job, "mem", options.mem);
  put_if_given(job, kModelKey, options.model);
  put_if_given(job, "mem_limit", options.mem_limit);
  put_if_given(job, "priority", options.priority);
  put_if_given(job, "class", options.job_class);
  put_if_given(job, "array", options.array);
  put_if_given(job, "retries", options.retries);
  put_if_given(job, "workload", options.workload);
  put_if_given(job, "progress", options.progress);
  put_if_given(job, "output", options.output);
  put_if_given(job, "error", options.error);
  put_if_given(job, "notify", options.notify);
  put_if_given(job, "cwd", options.folder);
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
  if (read) {
    read = put_latency(job, options);
  }
  ParamLists params;
  for (const std::string& param : options.params) {
    if (read) {
      read = add_param(params, param);
    }
  }
  if (!params.empty()) {
    job["params"] = params;
  }
  for (const std::string& variable : options.env) {
    if (read) {
      read = add_variable(job["env"], variable);
    }
  }
  if (read && options.latency.policy) {
    read = check_same_policy(job, *options.latency.policy);
  }
  return read.map([&] { return job; });
}

namespace {

// The library would take the default one for an unknown one.
Result<void> check_gate_policy(const json& job) {
  const json policy = job.at("env").value(kGatePolicyVariable, json(""));
  if (job.value("class", json("")) != "best-effort" || !policy.is_string() || policy == "") {
    return {};
  }
  const std::string problem = problem_of_gate_policy(policy.get<std::string>());
  return problem.empty() ? Result<void>()
                         : invalid_input(fmt::format("{}: {}", kGatePolicyVariable, problem));
}

bool is_file(const std::string& name, std::string_view suffix) {
  std::error_code ignored;
  return name.ends_with(suffix) && std::filesystem::is_regular_file(name, ignored);
}

// The request of a script with #CARPOOL lines, and the arguments behind its name.
Result<json> request_of_script(JobScript script, const std::vector<std::string>& command) {
  Result<json> job = parse_job_settings(script.options, command.front()).and_then(given_settings);
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
                                const std::string& folder,
                                bool from_afar) {
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
  // The programs of another machine are not known here.
  const Result<void> known = from_afar ? Result<void>() : check_program(first, folder);
  return known.map([&] { return json{{"argv", command}}; });
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

}  // namespace

Result<json> job_request(const std::vector<std::string>& command,
                         const JobSettings& settings,
                         bool from_afar) {
  Result<json> job =
      request_of_command(command, job_folder(settings.folder.value_or("")), from_afar);
  const Result<json> overrides = given_settings(settings);
  if (!job || !overrides) {
    return job ? overrides : job;
  }
  json env = settings.clean_env || from_afar ? json::object() : current_environment();
  for (const json* layer : {std::as_const(job).operator->(), overrides.operator->()}) {
    if (layer->contains("env") && layer->at("env").is_object()) {
      env.update(layer->at("env"));
    }
  }
  job->update(*overrides);
  (*job)["env"] = std::move(env);
  if (const Result<void> known = check_gate_policy(*job); !known) {
    return tl::unexpected(known.error());
  }
  (*job)["cwd"] = job_folder(job->value("cwd", ""));
  if (!from_afar) {
    put_surroundings(*job);
  }
  if (const Result<void> put = put_begin(*job); !put) {
    return tl::unexpected(put.error());
  }
  return job;
}

}  // namespace carpool::app
