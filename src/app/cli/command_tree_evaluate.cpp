// The command that judges models and rules.
#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {

void add_evaluate_command(CLI::App& app, ParsedOptions& parsed) {
  EvaluateOptions& options = parsed.evaluate;
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

}  // namespace carpool::app
