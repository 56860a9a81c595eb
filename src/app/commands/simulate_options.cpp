#include "app/commands/simulate_options.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace carpool::app {
namespace {

void add_policy_options(OptionSet& options, SimulateOptions& simulate) {
  options.option("--policy",
                 &simulate.policies,
                 "A,B",
                 "Policies to compare, each NAME[@PRECONDITIONS][:ESTIMATOR][/ORDER]; see carpool "
                 "policies (default: exclusive,magm:told,carpool)",
                 {.commas = true});
  options.option(
      "--order",
      &simulate.order,
      "NAME",
      "Queue order: fifo, shortest, hrrn or fair (default: fair; fifo for carma and aegis)");
  options.option("--recovery",
                 &simulate.recovery,
                 "NAME",
                 "Rule after an out-of-memory failure: reserve, carma or aegis (default: that of "
                 "the policy)");
  options.option(
      "--estimator",
      &simulate.estimator,
      "NAME",
      "Memory of a job before it runs: none, told (its true peak), gpumemnet, horus or faketensor "
      "(default: none)");
  options.option("--belief",
                 &simulate.belief,
                 "NAME",
                 "What policies know of interference: learned (from what they observe), truth or "
                 "blind (default: learned)");
  options.option("--rates",
                 &simulate.rates,
                 "SHARE",
                 "Share of the jobs whose progress is measured (default: 1)",
                 {.check = share_of_one()});
  options.option("--runtime-error",
                 &simulate.runtime_error,
                 "F",
                 "Relative error of the known run times, for example 0.3 (default: run times are "
                 "unknown)",
                 {.check = share_of_one()});
}

void add_run_options(OptionSet& options, SimulateOptions& simulate) {
  options.option("--seeds",
                 &simulate.seeds,
                 "N",
                 "Number of runs, each with other start-up times, noise and errors (default: 1)",
                 {.check = above_zero()});
  options.option("--shuffle",
                 &simulate.shuffle,
                 "N",
                 "Number of other orders of the jobs; each is run with every seed",
                 {.check = whole_number()});
  options.option(
      "--seed", &simulate.seed, "N", "First seed (default: 1)", {.check = whole_number()});
}

void add_generator_options(OptionSet& options, SimulateOptions& simulate) {
  options.option(
      "--generate", &simulate.generate, "KIND", "Trace to generate instead: philly (with -o)");
  options.option("--jobs",
                 &simulate.jobs,
                 "N",
                 "With --generate: number of jobs (default: 1000)",
                 {.check = above_zero()});
  options.option("--days",
                 &simulate.days,
                 "DAYS",
                 "With --generate: time in which the jobs are submitted (default: 1)",
                 {.check = above_zero()});
  options.option("-o,--output", &simulate.output, "FILE", "With --generate: trace to write");
}

}  // namespace

void add_simulate_options(OptionSet& options, SimulateOptions& simulate) {
  options.positional(
      "trace", &simulate.trace, "TRACE.csv", "Trace of jobs with their times (docs/simulator.md)");
  options.option("--cluster",
                 &simulate.cluster,
                 "SPEC",
                 "Simulated GPUs, COUNTxGPU: 4xA100-40, 8x24GiB (default: 4xA100-40)");
  add_policy_options(options, simulate);
  add_run_options(options, simulate);
  options.option(
      "--truth",
      &simulate.truth,
      "SOURCE",
      "How fast jobs really run together: pairs (the published A100 table), pairs*FACTOR, "
      "activity, or NAME.model.json with --data (default: pairs*1.9)");
  options.option("--data",
                 &simulate.data,
                 "DIR",
                 "Folder of the pair table, or dataset with the profiles of the model");
  options.option("--report", &simulate.report, "FILE", "HTML page with charts to write");
  options.option("--per-job", &simulate.per_job, "FILE", "CSV table of all jobs to write");
  options.option("--validate",
                 &simulate.validate,
                 "NAME",
                 "Published runs to compare the simulator with: aegis");
  add_generator_options(options, simulate);
}

Result<void> check_simulate_options(const SimulateOptions& options) {
  if (!options.generate) {
    for (const auto& [option, given] : {std::pair("--jobs", options.jobs.has_value()),
                                        std::pair("--days", options.days.has_value()),
                                        std::pair("-o", options.output.has_value())}) {
      if (given) {
        return invalid_input(fmt::format("{} is for --generate", option));
      }
    }
  }
  if (!options.generate && !options.validate) {
    return {};
  }
  if (options.generate && options.validate) {
    return invalid_input("--generate and --validate exclude each other");
  }
  const std::string_view purpose = options.generate ? "--generate" : "--validate";
  if (!options.trace.empty()) {
    return invalid_input(fmt::format("{} replays no trace: leave {} out", purpose, options.trace));
  }
  for (const auto& [option, given] : {std::pair("--report", options.report.has_value()),
                                      std::pair("--per-job", options.per_job.has_value())}) {
    if (given) {
      return invalid_input(fmt::format("{} is for a trace, not for {}", option, purpose));
    }
  }
  return {};
}

}  // namespace carpool::app
