#include "app/cli/job_settings.hpp"

#include <fmt/format.h>

#include "app/cli/command_line.hpp"
#include "app/cli/option_set.hpp"

namespace carpool::app {
namespace {

void add_dependencies(OptionSet& options, JobSettings& job) {
  options.option("--after",
                 &job.after,
                 "JOB,JOB",
                 "Jobs that must succeed before this one starts",
                 {.commas = true});
  options.option("--after-any",
                 &job.after_any,
                 "JOB,JOB",
                 "Jobs that must end before this one starts, with or without success",
                 {.commas = true});
  options.option("--after-not-ok",
                 &job.after_not_ok,
                 "JOB,JOB",
                 "Jobs that must end without success before this one starts",
                 {.commas = true});
}

void add_requests(OptionSet& options, JobSettings& job) {
  options.option("--gpus",
                 &job.gpus,
                 "N",
                 "Number of GPUs that the job needs at once (default: 1)",
                 {.check = whole_number(1)});
  options.option("--gpu",
                 &job.gpu,
                 "INDEX,INDEX",
                 "GPUs that the job may run on, by index (default: all)",
                 {.check = number_for(static_cast<unsigned*>(nullptr)), .commas = true});
  options.option("--gpu-type",
                 &job.gpu_type,
                 "NAME",
                 "GPUs that the job may run on, by a part of their name, in any case: H200");
  options.option(
      "--mem",
      &job.mem,
      "SIZE",
      "GPU memory that the job needs on each GPU: 12G, 800M, auto for an estimate, or none "
      "(default: an estimate where the command names a known model)",
      {.check = memory_size({"auto", "none"})});
  options.option(
      "--model",
      &job.model,
      "FILE",
      "File that describes the model, as carpool estimate reads it, for an estimate of --mem");
  options.option("--mem-limit",
                 &job.mem_limit,
                 "SIZE",
                 "Most GPU memory that the job may allocate, where MPS can enforce it",
                 {.check = memory_size()});
  options.option("--time",
                 &job.time,
                 "TIME",
                 "Time limit: 90s, 15m, 2h, 1-00:00:00",
                 {.check = time_with_unit()});
  options.option("--runtime",
                 &job.runtime,
                 "TIME",
                 "Expected solo run time, for scheduling",
                 {.check = time_with_unit()});
  options.option("--priority",
                 &job.priority,
                 "P",
                 "Priority: jobs with a higher one start first (default: 0)");
  options.option("--class",
                 &job.job_class,
                 "CLASS",
                 "slo, normal or best-effort (default: normal; slo with --slo)",
                 {.examples = {"slo", "normal", "best-effort"}});
  add_latency_settings(options, job.latency);
  options.flag("--exclusive", job.exclusive, "Share the GPUs of this job with no other job");
  add_dependencies(options, job);
}

void add_outputs(OptionSet& options, JobSettings& job) {
  options.option(
      "--param",
      &job.params,
      "NAME=LIST",
      "Submit one job for each value, and for each combination of several: lr=1e-3,1e-4; "
      "{lr} in the command is the value");
  options.option("--output",
                 &job.output,
                 "FILE",
                 "Append the output to a file, standard error too; %j is the number of the job, %a "
                 "its array index");
  options.option(
      "--error", &job.error, "FILE", "Append standard error to a file of its own, named alike");
  options.option("--notify",
                 &job.notify,
                 "COMMAND",
                 "Shell command to run once the job has ended; CARPOOL_JOB_ID, CARPOOL_JOB_NAME, "
                 "CARPOOL_JOB_STATE and CARPOOL_EXIT_CODE say which and how. An address, "
                 "https://..., gets a JSON document instead");
}

}  // namespace

void add_run_settings(OptionSet& options, JobSettings& job) {
  options.option("--name", &job.name, "NAME", "Name in listings (default: the script or program)");
  add_requests(options, job);
  options.option("--workload",
                 &job.workload,
                 "NAME",
                 "Workload of the job in profiles and datasets (default: its command)");
  options.option("--progress",
                 &job.progress,
                 "REGEX",
                 "Lines of the output that mark progress; \"none\": the job is not measured "
                 "(default: carpool.step(), else its kernel launches)");
  options.option("--chdir", &job.folder, "DIR", "Folder to run in (default: the current one)");
  options.option("--env",
                 &job.env,
                 "NAME[=VALUE]",
                 "Environment variable to set; without a value: as it is set here");
  options.flag("--clean-env", job.clean_env, "Pass on only the variables of --env");
}

void add_job_settings(OptionSet& options, JobSettings& job) {
  add_run_settings(options, job);
  add_outputs(options, job);
  options.flag("--hold", job.hold, "Do not start the job until carpool release");
  options.option("--begin",
                 &job.begin,
                 "WHEN",
                 "Do not start the job before: now+2h, 22:00, 2026-11-17T08:00",
                 {.check = begin_time()});
  options.option(
      "--array",
      &job.array,
      "LIST",
      "Submit one job for each index: 0-9, 1,3,5-7, 0-100:10; with %4 behind it, at most "
      "4 of them run at once");
  options.option("--retries",
                 &job.retries,
                 "N",
                 "Number of further attempts after a failure (default: 0)",
                 {.check = whole_number()});
}

Result<JobSettings> parse_job_settings(const std::vector<std::string>& words,
                                       const std::string& where) {
  JobSettings job;
  OptionSet options;
  add_job_settings(options, job);
  return parse_words("submit", options, words).map([&] { return job; }).map_error([&](Error error) {
    error.message = fmt::format("{}: #CARPOOL: {}", where, error.message);
    return error;
  });
}

}  // namespace carpool::app
