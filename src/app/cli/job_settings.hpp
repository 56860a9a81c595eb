// What a job may request: on the command line of `carpool submit` and `carpool run`, and on
// #CARPOOL lines of a script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/latency.hpp"
#include "base/result.hpp"

namespace carpool::app {

class OptionSet;

struct JobSettings {
  std::optional<std::string> name;
  std::optional<unsigned> gpus;
  std::vector<std::int64_t> gpu;  // indices
  std::optional<std::string> gpu_type;
  std::optional<std::string> mem;
  std::optional<std::string> model;  // file that describes the model, for mem "auto"
  std::optional<std::string> mem_limit;
  std::optional<std::string> time;
  std::optional<std::string> runtime;
  std::optional<int> priority;
  std::optional<std::string> job_class;
  LatencySettings latency;
  bool exclusive = false;
  std::vector<std::int64_t> after;
  std::vector<std::int64_t> after_any;
  std::vector<std::int64_t> after_not_ok;
  bool hold = false;
  std::optional<std::string> begin;
  std::optional<std::string> array;
  std::optional<unsigned> retries;
  std::optional<std::string> workload;
  std::optional<std::string> progress;
  std::optional<std::string> output;
  std::optional<std::string> error;
  std::optional<std::string> notify;
  std::vector<std::string> params;
  std::optional<std::string> folder;
  std::vector<std::string> env;
  bool clean_env = false;
};
void add_job_settings(OptionSet& options, JobSettings& job);
// Those of one job that its owner watches: without --hold, --array and --retries.
void add_run_settings(OptionSet& options, JobSettings& job);

// The words of the #CARPOOL lines of a script; `where` begins an error message.
[[nodiscard]] Result<JobSettings> parse_job_settings(const std::vector<std::string>& words,
                                                     const std::string& where);

}  // namespace carpool::app
