// The commands with their options, texts and examples, as the command-line library holds them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.hpp"
#include "base/result.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}  // namespace CLI

namespace carpool::app {

// All commands' options; the parsed command tells which one counts.
struct ParsedOptions {
  GlobalOptions global;
  std::optional<CommandOptions> chosen;  // by the commands that say so themselves
  ServeOptions serve;
  SubmitOptions submit;
  QueueOptions queue;
  JobActionOptions job_action;
  LogsOptions logs;
  WaitOptions wait;
  HistoryOptions history;
  DrainOptions drain;
  EvaluateOptions evaluate;
  TrainOptions train;
  PredictOptions predict;
  RecommendOptions recommend;
  AssignOptions assign;
  ReportOptions report;
  DemoOptions demo;
  DatasetOptions dataset;
  GpusOptions gpus;
  DoctorOptions doctor;
  TopOptions top;
  RecordOptions record;
  MeasureOptions measure;
  EstimateOptions estimate;
  ProfileOptions profile;
  ProfilesOptions profiles;
  SimulateOptions simulate;
};

// Builds the tree; parsing writes into `options`, which must outlive the tree.
void build_command_tree(CLI::App& app, ParsedOptions& options);

// --data of commands that read a dataset.
void add_data(CLI::App& command, std::optional<std::string>& data);

// Its part that judges models and rules: evaluate.
void add_evaluate_command(CLI::App& app, ParsedOptions& options);

// Its part that makes a model or asks one: train, predict, recommend, assign.
void add_model_commands(CLI::App& app, ParsedOptions& options);

// Its part that looks at this machine: gpus, top, record, doctor, measure.
void add_gpu_commands(CLI::App& app, ParsedOptions& options);

// Its part about the server and its jobs: serve, submit, queue, show, logs, …
void add_job_commands(CLI::App& app, ParsedOptions& options);

// --socket of commands that talk to a server.
void add_socket(CLI::App& command, ServerOptions& options);

// The options of a #CARPOOL line; `where` begins a complaint.
[[nodiscard]] Result<SubmitOptions> parse_submit_words(const std::vector<std::string>& words,
                                                       const std::string& where);

// Its part about profiles of programs: profile, profiles.
void add_profile_commands(CLI::App& app, ParsedOptions& options);

// Its part about memory: estimate, estimators.
void add_estimate_commands(CLI::App& app, ParsedOptions& options);

// Its part about simulated clusters: simulate, policies.
void add_simulate_commands(CLI::App& app, ParsedOptions& options);

}  // namespace carpool::app
