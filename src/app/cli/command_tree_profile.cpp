#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {
namespace {

void add_step_sources(CLI::App& command, ProfileOptions& options) {
  command.add_option("--nvtx", options.nvtx, "Each NVTX range of this name is a step")
      ->type_name("NAME");
  command
      .add_option("--step-regex",
                  options.step_regex,
                  "Lines of the output that tell of a step; a group in it is the step's number")
      ->type_name("REGEX");
}

void add_window(CLI::App& command, ProfileOptions& options) {
  command.add_option("--steps", options.steps, "See at least so many steps (default: 20)")
      ->type_name("N")
      ->check(above_zero());
  command.add_option("--seconds", options.seconds, "See at least so many seconds (default: 3)")
      ->type_name("S")
      ->check(seconds_from(0.5));
  command
      .add_option("--longest",
                  options.longest_seconds,
                  "See at most so many seconds, however few the steps (default: 10)")
      ->type_name("S")
      ->check(seconds_from(0.5));
  command
      .add_option("--start-limit",
                  options.start_seconds,
                  "Seconds that the program may take to start up (default: 300)")
      ->type_name("S")
      ->check(above_zero());
  command
      .add_option(
          "--slowdown",
          options.after_seconds,
          "Then let it go on so many seconds unwatched, and say how much the watching slowed "
          "it down; the program or --step-regex must tell of its steps")
      ->type_name("S")
      ->check(seconds_from(0.5));
}

void add_profile(CLI::App& app, ProfileOptions& options) {
  CLI::App* command = app.add_subcommand(
      "profile", "Run a program alone on a GPU for seconds and write its profile");
  command->add_option("command", options.command, "The program and its arguments, after --")
      ->type_name("COMMAND");
  command->add_option("--name", options.name, "Of the workload (default: from the command)")
      ->type_name("NAME");
  command
      ->add_option("-o,--output",
                   options.folder,
                   "Folder for NAME.profile.json and NAME.kernels.csv.gz (default: this one)")
      ->type_name("DIR");
  command->add_option("--gpu", options.gpu, "Index, as carpool gpus counts (default: 0)")
      ->type_name("I")
      ->check(whole_number());
  add_window(*command, options);
  add_step_sources(*command, options);
  command->add_flag(
      "--no-activity", options.no_activity, "Do not record launches: the GPU's sensors alone");
  command->add_flag("--counters", options.counters, "Also sample the SMs' hardware counters");
  command->add_flag("--ncu",
                    options.ncu,
                    "Then run it under Nsight Compute, one launch of every distinct kernel");
  command->add_option("--ncu-limit", options.ncu_seconds, "Seconds for --ncu (default: 300)")
      ->type_name("S")
      ->check(above_zero());
  command
      ->add_option("--from-ncu",
                   options.from_ncu,
                   "Run nothing: take the kernel metrics from this export of `ncu --csv`")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool profile -- python3 train.py --epochs 3\n"
      "  carpool profile --name bert --step-regex 'step (\\d+)' -o profiles -- python3 train.py\n"
      "  carpool profile --no-activity --seconds 1 -- python3 train.py\n"
      "  carpool profile --name bert --from-ncu bert.csv -o profiles");
}

void add_profiles(CLI::App& app, ProfilesOptions& options) {
  CLI::App* command =
      app.add_subcommand("profiles", "List and compare profiles, or add them to a dataset");
  command
      ->add_option("paths", options.paths, "Profiles, or folders with some (default: this folder)")
      ->type_name("PATH");
  command->add_flag(
      "--compare", options.compare, "Every metric of each, and its ratio to the first");
  command->add_option("--plot", options.plot, "Write a page with charts")->type_name("FILE");
  command
      ->add_option("--to-dataset",
                   options.dataset,
                   "Add the metrics to profiles.csv and dataset.toml of this folder")
      ->type_name("DIR");
  command->add_flag("--replace", options.replace, "With --to-dataset: also where there is a value")
      ->needs("--to-dataset");
  command->footer(
      "Examples:\n"
      "  carpool profiles\n"
      "  carpool profiles profiles --json\n"
      "  carpool profiles --compare job0.profile.json job1.profile.json\n"
      "  carpool profiles profiles --plot profiles.html\n"
      "  carpool profiles profiles --to-dataset my-gpu");
}

}  // namespace

void add_profile_commands(CLI::App& app, ParsedOptions& options) {
  add_profile(app, options.profile);
  add_profiles(app, options.profiles);
}

}  // namespace carpool::app
