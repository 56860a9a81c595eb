#include "app/command_tree.hpp"

#include <string>

#include <CLI/CLI.hpp>

#include "app/option_checks.hpp"
#include "app/version.hpp"

namespace carpool {
namespace {

void add_data(CLI::App& command, std::optional<std::string>& data) {
  command.add_option("--data", data, "Dataset folder (default: the bundled kace-v100)")
      ->type_name("DIR");
}

void add_model(CLI::App& command, ModelOptions& options) {
  add_data(command, options.data);
  command
      .add_option("--model", options.model, "Model to train (default: share; see carpool models)")
      ->type_name("NAME");
  command
      .add_option("--tables",
                  options.tables,
                  "Group tables to train on (default: pairs and, where "
                  "there is one, partitions)")
      ->delimiter(',')
      ->type_name("A,B");
  command
      .add_option("--features",
                  options.features,
                  "Metrics to use: default, kernel, system, none, default+xu")
      ->type_name("SET");
  command.add_option("--seed", options.seed, "Seed of models that draw random numbers")
      ->type_name("N")
      ->check(whole_number());
}

void add_model_or_file(CLI::App& command, ModelOptions& options) {
  add_model(command, options);
  command
      .add_option(
          "--model-file", options.model_file, "Use this NAME.model.json instead of training")
      ->type_name("FILE");
}

void add_goal(CLI::App& command, GoalOptions& options) {
  command
      .add_option("--objective",
                  options.objective,
                  "throughput, normalized, max-min or weighted (default: normalized)")
      ->type_name("NAME");
  command
      .add_option("--floor", options.floor, "No member below this share of its own speed, 0 to 1")
      ->type_name("F")
      ->check(share_of_one());
  command
      .add_option("--weights",
                  options.weights,
                  "Weight of each member for the objective weighted, the primary first "
                  "(default: 1, and 0.5 for all others)")
      ->delimiter(',')
      ->type_name("W,W");
  command.add_option("--memory", options.memory_gib, "Memory of one GPU (default: no limit)")
      ->type_name("GIB")
      ->check(above_zero());
}

void add_evaluate(CLI::App& app, EvaluateOptions& options) {
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Judge models and rules on measured groups, by the published protocols or others");
  add_data(*command, options.data);
  command
      ->add_option(
          "--protocol",
          options.protocol,
          "pairs-n-occur (default), unseen, triples-ratio, random, leave-one-out, transfer, "
          "mps-split")
      ->type_name("NAME");
  command->add_option("--table", options.table, "Group table to judge on (default: pairs)")
      ->type_name("NAME");
  command->add_option("--train-table", options.train_table, "Table to train on, protocol transfer")
      ->type_name("NAME");
  command->add_option("--n-occur", options.n_occur, "Training occurrences of each workload")
      ->type_name("N");
  command
      ->add_option("--train-fraction",
                   options.train_fraction,
                   "Share of the rows that trains, protocols random and triples-ratio")
      ->type_name("F");
  command
      ->add_option(
          "--seeds", options.seeds, "1000-1049, 10,20,30 or a count (default: the published ones)")
      ->type_name("SEEDS");
  command->add_option("--splits", options.splits_file, "Judge on the splits of this file")
      ->type_name("FILE");
  command
      ->add_option("--targets",
                   options.targets,
                   "Score these workloads alone (names or globs; all: every one)")
      ->delimiter(',')
      ->type_name("W,W");
  command
      ->add_option("--models",
                   options.models,
                   "Models and rules (default: all but the slow; all: every one)")
      ->delimiter(',')
      ->type_name("A,B");
  command->add_option("--objective", options.objective, "throughput, normalized or max-min")
      ->type_name("NAME");
  command->add_option("--floor", options.floor, "Floor whose violations are counted (default: 0.7)")
      ->type_name("F")
      ->check(share_of_one());
  command
      ->add_option("--features",
                   options.features,
                   "Metrics to use: default, kernel, system, none, default+xu")
      ->type_name("SET");
  command->add_option("--seed", options.seed, "Seed of models that draw random numbers")
      ->type_name("N")
      ->check(whole_number());
  command
      ->add_option("--time-budget",
                   options.time_budget_s,
                   "Seconds that kace-automl may search (default: 60)")
      ->type_name("S")
      ->check(above_zero());
  command->add_flag("--per-target", options.per_target, "Show each target's choice and score");
  command->add_flag(
      "--ablation", options.ablation, "Compare the sets of metrics instead of models");
  command->footer(
      "Examples:\n"
      "  carpool evaluate --n-occur 3\n"
      "  carpool evaluate --n-occur 3 --seeds 1000-1049 --models share,kace-lr\n"
      "  carpool evaluate --protocol unseen --table quads --json\n"
      "  carpool evaluate --protocol transfer --train-table pairs --table triples --models share\n"
      "  carpool evaluate --protocol mps-split\n"
      "  carpool evaluate --data my-gpu --protocol random --train-fraction 0.5 --seeds 20");
}

void add_train(CLI::App& app, TrainOptions& options) {
  CLI::App* command = app.add_subcommand("train", "Train a model and write it to a file");
  add_model(*command, options.model);
  command->add_option("-o,--output", options.output, "File to write, NAME.model.json")
      ->required()
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool train -o v100.model.json\n"
      "  carpool train --data my-gpu --tables pairs,triples -o my-gpu.model.json");
}

void add_predict(CLI::App& app, PredictOptions& options) {
  CLI::App* command = app.add_subcommand(
      "predict", "How fast does each workload of a group run, alone and together");
  command->add_option("workloads", options.workloads, "Workloads that would share one GPU")
      ->required()
      ->type_name("W");
  add_model_or_file(*command, options.model);
  command
      ->add_option("--limits",
                   options.limits,
                   "MPS thread limit of each workload in % (default: 100 for all)")
      ->delimiter(',')
      ->type_name("P,P");
  add_goal(*command, options.goal);
  command->footer(
      "Examples:\n"
      "  carpool predict bert-base-cased_batch8-inf albert-base-v2_batch8-train\n"
      "  carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --limits 30,70\n"
      "  carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --objective max-min");
}

void add_recommend(CLI::App& app, RecommendOptions& options) {
  CLI::App* command = app.add_subcommand("recommend", "Rank partners for a workload, with reasons");
  command->add_option("target", options.target, "The workload that looks for company")
      ->required()
      ->type_name("W");
  add_model_or_file(*command, options.model);
  add_goal(*command, options.goal);
  command
      ->add_option("--candidates",
                   options.candidates,
                   "Possible partners (default: every workload of the dataset)")
      ->delimiter(',')
      ->type_name("W,W");
  command->add_option("--top", options.top, "How many to show (default: 10)")
      ->type_name("N")
      ->check(whole_number());
  command
      ->add_option("--grow", options.grow, "Also add members one by one up to a group of this size")
      ->type_name("N")
      ->check(whole_number());
  command->footer(
      "Examples:\n"
      "  carpool recommend bert-base-cased_batch8-train\n"
      "  carpool recommend bert-base-cased_batch8-train --objective throughput --top 5\n"
      "  carpool recommend vit-base-patch16-224_batch8-inf --grow 4 --floor 0.4 --memory 32");
}

void add_assign(CLI::App& app, AssignOptions& options) {
  CLI::App* command =
      app.add_subcommand("assign", "Spread workloads over GPUs so that all run well");
  command
      ->add_option("workloads",
                   options.workloads,
                   "Workloads to place; one that is named twice runs twice (default: all of the "
                   "table)")
      ->type_name("W");
  add_model_or_file(*command, options.model);
  add_goal(*command, options.goal);
  command->add_option("--gpus", options.gpus, "GPUs at hand (default: just enough)")
      ->type_name("G")
      ->check(whole_number());
  command->add_option("--per-gpu", options.per_gpu, "Most workloads on one GPU (default: 2)")
      ->type_name("K")
      ->check(whole_number());
  command
      ->add_option(
          "--method", options.method, "auto, exact, matching or local-search (default: auto)")
      ->type_name("NAME");
  command->footer(
      "Examples:\n"
      "  carpool assign --gpus 11 --memory 32\n"
      "  carpool assign --gpus 7 --per-gpu 3 --objective max-min\n"
      "  carpool assign bert-base-cased_batch2-inf vit_h_14_batch2-train "
      "albert-base-v2_batch2-train");
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* command = app.add_subcommand("report", "Write one HTML page with charts of it all");
  add_data(*command, options.data);
  command->add_option("-o,--output", options.output, "File to write (default: carpool-report.html)")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool report\n"
      "  carpool report --data my-gpu -o my-gpu.html");
}

void add_demo(CLI::App& app, DemoOptions& options) {
  CLI::App* command = app.add_subcommand(
      "demo", "The tour: train on the bundled data, recommend, compare, write the report");
  command->add_option("--report", options.report, "Report to write (default: carpool-report.html)")
      ->type_name("FILE");
  command->footer("Examples:\n  carpool demo");
}

void add_dataset(CLI::App& app, DatasetOptions& options) {
  CLI::App* command = app.add_subcommand("dataset", "Check a dataset folder and say what is in it");
  command->add_option("folder", options.folder, "The folder (default: the bundled kace-v100)")
      ->type_name("DIR");
  command->footer("Examples:\n  carpool dataset my-gpu");
}

void add_globals(CLI::App& app, GlobalOptions& options) {
  app.add_flag("--json", options.json, "Results as JSON on standard output");
  app.add_flag("-q,--quiet", options.quiet, "No progress, no remarks");
  app.add_flag("-v,--verbose", options.verbose, "Say more on standard error");
  app.add_option("--color", options.colour, "auto, always or never (default: auto)")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--config",
                 options.config_file,
                 "Configuration (default: ~/.config/carpool/config.toml, "
                 "/etc/carpool/config.toml)")
      ->type_name("FILE");
}

// Options before the command's own are the same for all; each help says where they are told.
void point_to_globals(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->footer(command->get_footer() +
                    "\n`carpool --help` shows the options that every command takes.");
  }
}

}  // namespace

void build_command_tree(CLI::App& app, ParsedOptions& options) {
  app.name("carpool");
  app.description("Carpool lets deep-learning jobs share GPUs safely and fast.");
  app.set_version_flag("--version", std::string("carpool ") + std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  add_globals(app, options.global);
  add_evaluate(app, options.evaluate);
  add_train(app, options.train);
  add_predict(app, options.predict);
  add_recommend(app, options.recommend);
  add_assign(app, options.assign);
  add_report(app, options.report);
  add_demo(app, options.demo);
  add_dataset(app, options.dataset);
  add_gpu_commands(app, options);
  add_job_commands(app, options);
  add_profile_commands(app, options);
  add_estimate_commands(app, options);
  add_simulate_commands(app, options);
  app.add_subcommand("models", "List models, rules, objectives and protocols")
      ->footer("Examples:\n  carpool models --json");
  app.add_subcommand("man", "Print the manual page")->footer("Examples:\n  carpool man | man -l -");
  point_to_globals(app);
  app.footer(
      "Examples:\n"
      "  carpool demo\n"
      "  carpool recommend bert-base-cased_batch8-train\n"
      "  carpool predict bert-base-cased_batch8-inf albert-base-v2_batch8-train\n"
      "  carpool evaluate --n-occur 3\n"
      "Exit codes: 0 success, 1 failure, 2 bad usage or bad input, 69 no server.\n"
      "`carpool COMMAND --help` shows the options of a command.");
}

}  // namespace carpool
