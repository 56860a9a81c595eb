// What the command line can say, as plain data: one struct a command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/cli/job_options.hpp"
#include "app/cli/simulate_options.hpp"

namespace carpool::app {

struct GlobalOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string colour;  // empty: configuration, else auto
  std::optional<std::string> config_file;
};

// Where forecasts come from: a model file, or a model trained here and now.
struct ModelOptions {
  std::optional<std::string> data;   // dataset folder; absent: configuration, else the bundled
  std::optional<std::string> model;  // name in the table of models
  std::optional<std::string> model_file;
  std::vector<std::string> tables;  // absent: pairs
  std::string features = "default";
  std::uint64_t seed = 0;
};

// What "better" means.
struct GoalOptions {
  std::optional<std::string> objective;
  std::optional<double> floor;
  std::vector<double> weights;
  std::optional<double> memory_gib;
};

struct EvaluateOptions {
  std::optional<std::string> data;
  std::string protocol;  // empty: pairs-n-occur, or file when --splits is given
  std::string table;     // empty: the protocol's own
  std::string train_table = "pairs";
  std::optional<int> n_occur;
  std::optional<double> train_fraction;
  std::string seeds;
  std::string splits_file;
  std::vector<std::string> targets;
  std::vector<std::string> models;
  std::string objective = "throughput";
  double floor = 0.7;
  std::string features = "default";
  std::uint64_t seed = 0;
  double time_budget_s = 60.0;
  bool per_target = false;
  bool ablation = false;
};

struct TrainOptions {
  ModelOptions model;
  std::string output;
};

struct PredictOptions {
  ModelOptions model;
  GoalOptions goal;
  std::vector<std::string> workloads;
  std::vector<double> limits;  // MPS thread limits, one a workload; absent: 100 for all
};

struct RecommendOptions {
  ModelOptions model;
  GoalOptions goal;
  std::string target;
  std::vector<std::string> candidates;  // absent: every workload of the dataset
  std::size_t top = 10;
  std::size_t grow = 2;  // members of the group that is grown; 2: only partners are ranked
};

struct AssignOptions {
  ModelOptions model;
  GoalOptions goal;
  std::vector<std::string> workloads;  // absent: every workload of the table
  std::optional<std::size_t> gpus;     // absent: just enough
  std::size_t per_gpu = 2;
  std::string method = "auto";
};

struct ReportOptions {
  std::optional<std::string> data;
  std::string output = "carpool-report.html";
};

struct DemoOptions {
  std::string report = "carpool-report.html";
};

struct DatasetOptions {
  std::string folder;
};

struct GpusOptions {
  std::optional<double> watch_seconds;  // absent: one reading
  std::optional<std::size_t> count;     // readings of --watch; absent: until a signal comes
  bool processes = false;
  std::optional<std::string> replay;
};

struct DoctorOptions {
  bool python = false;
};

struct TopOptions {
  bool once = false;
  std::string sort = "memory";
  double interval_seconds = 1.0;
  std::optional<std::string> replay;
};

struct RecordOptions {
  std::string output;
  std::optional<double> seconds;  // absent: until a signal comes
  double interval_seconds = 0.2;
};

struct MeasureOptions {
  std::string plan;
  std::string folder;                   // of the dataset
  std::optional<double> limit_seconds;  // absent: to the end of the plan
  bool retry_failed = false;
  bool dry_run = false;
};

struct ProfileOptions {
  std::vector<std::string> command;
  std::string name;          // empty: made from the command
  std::string folder = ".";  // of the profile
  unsigned gpu = 0;
  double steps = 20.0;
  double seconds = 3.0;
  double longest_seconds = 10.0;
  double start_seconds = 300.0;
  double after_seconds = 0.0;
  bool no_activity = false;
  bool counters = false;
  bool ncu = false;
  double ncu_seconds = 300.0;
  std::string nvtx;
  std::string step_regex;
  std::optional<std::string> from_ncu;  // an export to read instead of running anything
};

struct ProfilesOptions {
  std::vector<std::string> paths;  // files and folders; absent: this folder
  bool compare = false;
  std::optional<std::string> plot;     // page to write
  std::optional<std::string> dataset;  // folder to add the metrics to
  bool replace = false;
};

// One job that is yet to run: what the user says of it.
struct EstimateJobOptions {
  ServerOptions server;  // which may have run it before
  bool no_history = false;
  std::vector<std::string> source;   // at most one file
  std::vector<std::string> command;  // after --
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
  std::optional<std::string> evaluate;  // files of measured jobs
  std::optional<std::string> fit;
  std::optional<std::string> catalogue;
  std::optional<std::string> convolutions;
  std::string view = "layers";
  std::string split = "names";
  std::vector<std::string> estimators;  // absent: all
  double confidence = 0.99;
  bool per_row = false;
  std::string output;
};

struct EstimatorListOptions {};  // carpool estimators
struct ListOptions {};           // carpool models
struct ManOptions {};            // carpool man

using CommandOptions = std::variant<EvaluateOptions,
                                    TrainOptions,
                                    PredictOptions,
                                    RecommendOptions,
                                    AssignOptions,
                                    ReportOptions,
                                    DemoOptions,
                                    DatasetOptions,
                                    GpusOptions,
                                    DoctorOptions,
                                    TopOptions,
                                    RecordOptions,
                                    MeasureOptions,
                                    ProfileOptions,
                                    ProfilesOptions,
                                    ServeOptions,
                                    SubmitOptions,
                                    QueueOptions,
                                    JobActionOptions,
                                    LogsOptions,
                                    WaitOptions,
                                    HistoryOptions,
                                    DrainOptions,
                                    EstimateOptions,
                                    EstimatorListOptions,
                                    SimulateOptions,
                                    PolicyListOptions,
                                    ListOptions,
                                    ManOptions>;

struct Invocation {
  GlobalOptions global;
  CommandOptions command;
};

}  // namespace carpool::app
