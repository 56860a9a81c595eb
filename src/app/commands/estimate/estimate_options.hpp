// Options of `carpool estimate`, and its part for a single job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command_context.hpp"
#include "app/cli/option_set.hpp"
#include "app/cli/shared_options.hpp"

namespace carpool::app {

// A job that has not run yet, as the user describes it.
struct EstimateJobOptions {
  ServerOptions server;  // which may have run the job before
  bool no_history = false;
  std::vector<std::string> source;   // at most one file
  std::vector<std::string> command;  // behind --
  std::optional<std::string> weights;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> sequence;
  std::optional<std::string> dtype;
  std::optional<std::string> optimizer;
  std::optional<std::string> task;
  std::optional<std::string> attention;
  std::optional<std::int64_t> accumulate;
  std::optional<std::int64_t> lora_rank;
  std::optional<std::int64_t> new_tokens;
  std::optional<std::int64_t> resolution;
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> zero_stage;
  bool train = false;
  bool inference = false;
  bool checkpointing = false;
  bool built_on_gpu = false;
  std::optional<std::string> context;  // size
  std::optional<std::string> fits;     // size
  std::optional<std::string> model_file;
};

struct EstimateOptions {
  EstimateJobOptions job;
  std::optional<std::string> evaluate;  // file of measured jobs
  std::optional<std::string> fit;
  std::optional<std::string> catalogue;
  std::optional<std::string> convolutions;
  std::optional<std::string> view;      // empty: layers
  std::optional<std::string> split;     // empty: names
  std::vector<std::string> estimators;  // empty: all
  double confidence = 0.99;
  bool per_row = false;
  std::string output;
};
void add_estimate_options(OptionSet& options, EstimateOptions& estimate);

[[nodiscard]] Result<void> run_estimate_job(const EstimateOptions& options,
                                            const CommandContext& context);

}  // namespace carpool::app
