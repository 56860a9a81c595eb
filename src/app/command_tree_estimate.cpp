#include <CLI/CLI.hpp>

#include "app/command_tree.hpp"
#include "app/option_checks.hpp"

namespace carpool {

void add_estimate_commands(CLI::App& app, ParsedOptions& parsed) {
  EstimateOptions& options = parsed.estimate;
  CLI::App* command = app.add_subcommand(
      "estimate", "How much GPU memory jobs need: judge and fit the estimators of it");
  CLI::Option* evaluate =
      command
          ->add_option(
              "--evaluate",
              options.evaluate,
              "Judge estimators on the measured jobs of this file (JSON lines, .gz or not)")
          ->type_name("ROWS");
  command->add_option("--fit", options.fit, "Fit carpool's own estimator to the jobs of this file")
      ->type_name("ROWS")
      ->excludes(evaluate);
  command
      ->add_option("--from",
                   options.view,
                   "What of a row may be seen: trace, layers, config or flags (default: layers)")
      ->type_name("VIEW");
  command
      ->add_option("--split",
                   options.split,
                   "names (default), published, leave-one-out or in-sample; see carpool estimators")
      ->type_name("NAME");
  command
      ->add_option("--estimator", options.estimators, "Which ones (default: all that can answer)")
      ->delimiter(',')
      ->type_name("A,B");
  command
      ->add_option("--catalogue",
                   options.catalogue,
                   "Rows with the layers of named models, for --from config")
      ->type_name("ROWS");
  command->add_option("--confidence", options.confidence, "Of the upper bound (default: 0.99)")
      ->type_name("F")
      ->check(CLI::Range(0.5, 0.999));
  command->add_flag("--per-row", options.per_row, "With --json: every single estimate too");
  command->add_option("-o,--output", options.output, "With --fit: file to write, NAME.model.json")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --from config "
      "--catalogue data/memory-h200/rows.jsonl.gz\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --estimator carpool,horus\n"
      "  carpool estimate --fit data/memory-h200/rows.jsonl.gz -o h200.model.json");
  app.add_subcommand("estimators", "List memory estimators and splits")
      ->footer("Examples:\n  carpool estimators --json");
}

}  // namespace carpool
