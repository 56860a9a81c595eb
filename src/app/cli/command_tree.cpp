#include "app/cli/command_tree.hpp"

#include <string>

#include <CLI/CLI.hpp>

#include "app/version.hpp"

namespace carpool::app {
namespace {

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

void add_data(CLI::App& command, std::optional<std::string>& data) {
  command.add_option("--data", data, "Dataset folder (default: the bundled kace-v100)")
      ->type_name("DIR");
}

void build_command_tree(CLI::App& app, ParsedOptions& options) {
  app.name("carpool");
  app.description("Carpool lets deep-learning jobs share GPUs safely and fast.");
  app.set_version_flag("--version", std::string("carpool ") + std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  add_globals(app, options.global);
  add_evaluate_command(app, options);
  add_model_commands(app, options);
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

}  // namespace carpool::app
