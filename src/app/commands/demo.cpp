#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"
#include "app/top/gpu_watch.hpp"

namespace carpool::app {
namespace {

struct DemoOptions {
  std::string report = "carpool-report.html";
};

void add_demo_options(OptionSet& options, DemoOptions& demo) {
  options.option(
      "--report", &demo.report, "FILE", "Report to write (default: carpool-report.html)");
}

struct DemoStep {
  std::string heading;
  std::vector<std::string> command;
};

std::vector<DemoStep> demo_steps(const DemoOptions& options) {
  std::vector<DemoStep> steps = {
      // A trainer of medium size, for which the choice of partner matters.
      {"Which partner should a BERT trainer take?",
       {"recommend", "bert-base-cased_batch8-train", "--top", "5", "--memory", "32"}},
      {"How fast will two run, and which MPS thread limits are fairest?",
       {"predict",
        "albert-base-v2_batch2-train",
        "whisper-large-v2_batch16-inf",
        "--objective",
        "max-min"}},
      {"How far is that from the best possible choice? (score: % of the oracle)", {"evaluate"}},
      {"The whole story", {"report", "--output", options.report}}};
  if (open_gpus()) {
    steps.push_back({"What do the GPUs of this machine do?", {"gpus"}});
  }
  return steps;
}

Result<void> run_demo(const DemoOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  if (output.json()) {
    return invalid_input("demo prints no JSON; `carpool evaluate --json` has the figures");
  }
  std::size_t number = 0;
  for (const DemoStep& step : demo_steps(options)) {
    if (number > 0) {
      output.print("\n");
    }
    output.heading(fmt::format("{}. {}", ++number, step.heading));
    if (auto done = run_words(step.command, context); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace

CommandSpec demo_command() {
  return make_command(add_demo_options, run_demo, {"carpool demo"});
}

}  // namespace carpool::app
