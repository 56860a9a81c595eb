#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {
namespace {

void add_ways(CLI::App& command, SimulateOptions& options) {
  command
      .add_option("--policy",
                  options.policies,
                  "Ways to compare, each NAME[@PRECONDITIONS][:ESTIMATOR]; see carpool policies "
                  "(default: exclusive,aegis:gpumemnet,carpool)")
      ->delimiter(',')
      ->type_name("A,B");
  command
      .add_option("--order",
                  options.order,
                  "fifo, shortest, hrrn or fair (default: fair; fifo for carma, aegis, exclusive)")
      ->type_name("NAME");
  command
      .add_option(
          "--recovery",
          options.recovery,
          "After running out of memory: reserve, carma or aegis (default: the policy's own)")
      ->type_name("NAME");
  command
      .add_option("--estimator",
                  options.estimator,
                  "Where memory is known from: oracle, none, gpumemnet, horus or faketensor "
                  "(default: oracle)")
      ->type_name("NAME");
  command
      .add_option("--runtime-error",
                  options.runtime_error,
                  "Run times are known within this share, 0.3 for example (default: not known)")
      ->type_name("F")
      ->check(share_of_one());
}

void add_repeats(CLI::App& command, SimulateOptions& options) {
  command
      .add_option(
          "--seeds", options.seeds, "Runs, each with other start-ups and errors (default: 1)")
      ->type_name("N")
      ->check(above_zero());
  command.add_option("--shuffle", options.shuffle, "Runs, each with the jobs in another order")
      ->type_name("N")
      ->check(whole_number());
  command.add_option("--seed", options.seed, "The first seed (default: 1)")
      ->type_name("S")
      ->check(whole_number());
}

void add_sources(CLI::App& command, SimulateOptions& options) {
  command
      .add_option(
          "--co-run",
          options.interference,
          "How fast jobs run together: pairs (the published A100 table), or a NAME.model.json "
          "with --data (default: pairs)")
      ->type_name("WHAT");
  command
      .add_option("--data",
                  options.data,
                  "Folder with the pair table, or the dataset that a model's profiles come from")
      ->type_name("DIR");
}

void add_generator(CLI::App& command, SimulateOptions& options) {
  command.add_option("--generate", options.generate, "Make a trace instead: philly (with -o)")
      ->type_name("KIND");
  command.add_option("--jobs", options.jobs, "With --generate: how many (default: 1000)")
      ->type_name("N")
      ->check(above_zero());
  command.add_option("--days", options.days, "With --generate: submitted within (default: 1)")
      ->type_name("D")
      ->check(above_zero());
  command.add_option("-o,--output", options.output, "With --generate: the trace to write")
      ->type_name("FILE");
}

}  // namespace

void add_simulate_commands(CLI::App& app, ParsedOptions& options) {
  SimulateOptions& simulate = options.simulate;
  CLI::App* command = app.add_subcommand(
      "simulate", "Replay a trace of jobs on simulated GPUs under several policies");
  command->add_option("trace", simulate.trace, "Jobs with their times (docs/simulator.md)")
      ->type_name("TRACE.csv");
  command
      ->add_option(
          "--cluster", simulate.cluster, "COUNTxGPU, as 4xA100-40 or 8x24GiB (default: 4xA100-40)")
      ->type_name("SPEC");
  add_ways(*command, simulate);
  add_repeats(*command, simulate);
  add_sources(*command, simulate);
  command->add_option("--report", simulate.report, "Write a page with charts")->type_name("FILE");
  command
      ->add_option(
          "--validate", simulate.validate, "Hold the simulator against published runs: aegis")
      ->type_name("WHAT");
  add_generator(*command, simulate);
  command->callback([&options] { options.chosen = options.simulate; });
  command->footer(
      "Examples:\n"
      "  carpool simulate --generate philly --jobs 50 --days 0.2 -o trace.csv\n"
      "  carpool simulate trace.csv --runtime-error 0.3 --seeds 3 --report simulation.html\n"
      "  carpool simulate trace.csv --cluster 2x80GiB --policy lug@aegis:none,magm,carpool\n"
      "  carpool simulate --validate aegis --seeds 3");
  app.add_subcommand("policies", "List placement policies, queue orders and recovery rules")
      ->callback([&options] { options.chosen = PolicyListOptions{}; })
      ->footer("Examples:\n  carpool policies --json");
}

}  // namespace carpool::app
