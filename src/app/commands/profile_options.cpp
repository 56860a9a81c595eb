#include "app/commands/profile_options.hpp"

namespace carpool::app {
namespace {

void add_window_options(OptionSet& options, ProfileOptions& profile) {
  options.option("--steps",
                 &profile.steps,
                 "N",
                 "Least number of steps to watch (default: 20)",
                 {.check = above_zero()});
  options.option("--seconds",
                 &profile.seconds,
                 "SECONDS",
                 "Least time to watch (default: 3)",
                 {.check = seconds_from(0.5)});
  options.option("--longest",
                 &profile.longest_seconds,
                 "SECONDS",
                 "Longest time to watch, even if there were fewer steps (default: 10)",
                 {.check = seconds_from(0.5)});
  options.option("--start-limit",
                 &profile.start_seconds,
                 "SECONDS",
                 "Longest time for the program to start (default: 300)",
                 {.check = above_zero()});
  options.option("--slowdown",
                 &profile.after_seconds,
                 "SECONDS",
                 "Time to let the program run unwatched afterwards, to measure how much watching "
                 "slows it down; needs steps from the program or --step-regex",
                 {.check = seconds_from(0.5)});
}

void add_step_options(OptionSet& options, ProfileOptions& profile) {
  options.option("--nvtx", &profile.nvtx, "NAME", "Name of the NVTX ranges that count as steps");
  options.option("--step-regex",
                 &profile.step_regex,
                 "REGEX",
                 "Regular expression of output lines that report a step; a group in it is the "
                 "number of the step");
}

void add_source_options(OptionSet& options, ProfileOptions& profile) {
  options.flag("--no-activity",
               profile.no_activity,
               "Read only the sensors of the GPU, not kernel launches");
  options.flag("--counters", profile.counters, "Also sample the hardware counters of the SMs");
  options.flag("--ncu",
               profile.ncu,
               "Run the program again under Nsight Compute, one launch of every distinct kernel");
  options.option("--ncu-limit",
                 &profile.ncu_seconds,
                 "SECONDS",
                 "Time limit of --ncu (default: 300)",
                 {.check = above_zero()});
  options.option("--from-ncu",
                 &profile.from_ncu,
                 "FILE",
                 "Export of `ncu --csv` to take kernel metrics from, without running a program");
}

}  // namespace

void add_profile_options(OptionSet& options, ProfileOptions& profile) {
  options.program("command",
                  profile.command,
                  "COMMAND",
                  "Program and its arguments, behind --; options of carpool come before it");
  options.option(
      "--name", &profile.name, "NAME", "Name of the workload (default: from the command)");
  options.option("-o,--output",
                 &profile.folder,
                 "DIR",
                 "Folder for NAME.profile.json and NAME.kernels.csv.gz (default: the current one)");
  options.option("--gpu",
                 &profile.gpu,
                 "I",
                 "Index of the GPU, as in carpool gpus (default: 0)",
                 {.check = whole_number()});
  add_window_options(options, profile);
  add_step_options(options, profile);
  add_source_options(options, profile);
}

}  // namespace carpool::app
