#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {
namespace {

// Faster than the driver's own counters move, nothing new is seen.
constexpr double kShortestInterval = 0.1;

void add_replay(CLI::App& command, std::optional<std::string>& replay) {
  command
      .add_option("--replay", replay, "Show this recording instead of a GPU (see carpool record)")
      ->type_name("FILE");
}

void add_gpus(CLI::App& app, GpusOptions& options) {
  CLI::App* command =
      app.add_subcommand("gpus", "What each GPU is and does: memory, SM activity, power, clocks");
  command
      ->add_option(
          "--watch", options.watch_seconds, "Show it again and again, each SECONDS, until Ctrl-C")
      ->type_name("SECONDS")
      ->expected(0, 1)
      ->default_str("2")
      ->check(seconds_from(kShortestInterval));
  command->add_option("--count", options.count, "With --watch: end after so many")
      ->type_name("N")
      ->check(whole_number())
      ->needs("--watch");
  command->add_flag("--processes", options.processes, "List the processes on each GPU");
  add_replay(*command, options.replay);
  command->footer(
      "Examples:\n"
      "  carpool gpus\n"
      "  carpool gpus --processes --json\n"
      "  carpool gpus --watch 1 --count 2\n"
      "  carpool gpus --replay recording.jsonl");
}

void add_top(CLI::App& app, TopOptions& options) {
  CLI::App* command =
      app.add_subcommand("top", "Watch GPUs and their processes on the whole terminal");
  command->add_flag(
      "--once", options.once, "Print one screen and end; so does an output that is no terminal");
  command
      ->add_option(
          "--sort", options.sort, "Processes by memory, sm or pid (default: memory); keys m, s, p")
      ->type_name("KEY")
      ->check(CLI::IsMember({"memory", "sm", "pid"}));
  command
      ->add_option("--interval", options.interval_seconds, "Seconds between readings (default: 1)")
      ->type_name("S")
      ->check(seconds_from(kShortestInterval));
  add_replay(*command, options.replay);
  command->footer(
      "Examples:\n"
      "  carpool top\n"
      "  carpool top --once --sort pid\n"
      "  carpool top --replay recording.jsonl --interval 0.5");
}

void add_record(CLI::App& app, RecordOptions& options) {
  CLI::App* command = app.add_subcommand(
      "record", "Record what the GPUs do, for carpool gpus and carpool top to replay");
  command
      ->add_option("-o,--output",
                   options.output,
                   "File to write, JSON lines; a recording of the same GPUs is continued")
      ->required()
      ->type_name("FILE");
  command->add_option("--seconds", options.seconds, "How long (default: until Ctrl-C)")
      ->type_name("N")
      ->check(seconds_from(kShortestInterval));
  command
      ->add_option(
          "--interval", options.interval_seconds, "Seconds between readings (default: 0.2)")
      ->type_name("S")
      ->check(seconds_from(kShortestInterval));
  command->footer(
      "Examples:\n"
      "  carpool record --seconds 2 -o busy.jsonl\n"
      "  carpool record --seconds 1 --interval 0.1 -o idle.jsonl");
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Check whether GPUs can be shared here: what works, what does not, what to do");
  command->add_flag("--python", options.python, "Also look for PyTorch (takes seconds)");
  command->footer(
      "Examples:\n"
      "  carpool doctor\n"
      "  carpool doctor --json\n"
      "Exit code 1 when something that sharing needs is missing.");
}

void add_measure(CLI::App& app, MeasureOptions& options) {
  CLI::App* command = app.add_subcommand(
      "measure", "Run workloads alone and together on a GPU, and write what came out as a dataset");
  command->add_option("plan", options.plan, "What to measure (docs/measuring.md)")
      ->required()
      ->type_name("PLAN.toml");
  command
      ->add_option("-o,--output",
                   options.folder,
                   "Dataset folder to write; one of an interrupted run is continued")
      ->type_name("DIR");
  command
      ->add_option("--time-limit",
                   options.limit_seconds,
                   "Begin no window after this time, so that a run fits a time slot")
      ->type_name("SECONDS")
      ->check(above_zero());
  command->add_flag("--retry-failed", options.retry_failed, "Measure again what failed before");
  command->add_flag("--dry-run", options.dry_run, "Show what would be measured, and end");
  command->footer(
      "Examples:\n"
      "  carpool measure plan.toml --dry-run\n"
      "  carpool measure plan.toml -o measured --time-limit 540\n"
      "Without MPS, NVML or a GPU it says what is missing; see carpool doctor.");
}

}  // namespace

void add_gpu_commands(CLI::App& app, ParsedOptions& options) {
  add_gpus(app, options.gpus);
  add_top(app, options.top);
  add_record(app, options.record);
  add_doctor(app, options.doctor);
  add_measure(app, options.measure);
}

}  // namespace carpool::app
