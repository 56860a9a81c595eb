#include <chrono>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/output/gpu_table.hpp"
#include "app/top/served_gpus.hpp"
#include "app/top/top_model.hpp"
#include "app/top/top_screen.hpp"
#include "app/top/top_view.hpp"
#include "base/clock.hpp"
#include "base/process/stop_signals.hpp"
#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

struct TopOptions {
  bool once = false;
  std::string sort = "memory";
  double interval_seconds = 1.0;
  std::optional<std::string> replay;
  ServerOptions server;
};

void add_top_options(OptionSet& options, TopOptions& top) {
  options.flag(
      "--once", top.once, "Print one screen and exit (default if the output is not a terminal)");
  options.option("--sort",
                 &top.sort,
                 "KEY",
                 "Order of the processes (default: memory; keys m, s, p, j change it)",
                 {.choices = {"memory", "sm", "pid", "job"}});
  options.option("--interval",
                 &top.interval_seconds,
                 "SECONDS",
                 "Time between readings (default: 1)",
                 {.check = seconds_from(kShortestIntervalSeconds)});
  add_replay(options, top.replay);
  add_socket(options, top.server);
}

// Longest time until a key or a signal takes effect.
constexpr std::chrono::milliseconds kStep{100};

bool on_terminal() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

TopScreenSize print_out_size() {
  TopScreenSize print_out;
  const std::optional<std::size_t> terminal = terminal_columns();
  print_out.columns = terminal.value_or(print_out.columns);
  print_out.whole_lines = !terminal;
  return print_out;
}

// What the user confirmed. A refusal of the server is shown.
void cancel_confirmed(ServedGpus& gpus, TopModel& model) {
  const JobId job = *std::exchange(model.to_cancel, std::nullopt);
  const Result<void> done = gpus.cancel(job);
  model.notice = done ? fmt::format("Job {} is cancelled", job) : done.error().message;
}

Result<void> run_screen(ServedGpus& gpus,
                        TopModel& model,
                        const TopOptions& options,
                        StopSignals& signals,
                        bool colour) {
  const Glyphs& glyphs = terminal_speaks_utf8() ? unicode_glyphs() : ascii_glyphs();
  auto screen = TopScreen::open(colour);
  if (!screen) {
    return tl::unexpected(screen.error());
  }
  double due = 0.0;
  const Stopwatch watch;
  bool going = true;
  while (going && !signals.came()) {
    if (watch.seconds() >= due) {
      show_reading(model, gpus.read());
      due = watch.seconds() + options.interval_seconds;
    }
    const TopView view = top_view(model, screen->size(), glyphs);
    screen->draw(view.lines);
    going = press(model, screen->wait_for_key(kStep), view.page);
    if (model.to_cancel) {
      cancel_confirmed(gpus, model);
    }
  }
  return {};
}

Result<void> run_top(const TopOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  StopSignals signals;
  auto gpus = ServedGpus::open(options.replay, options.server);
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  if (signals.wait_for(2 * kShortestActivitySpan)) {
    return {};
  }
  TopModel model;
  model.sort = sort_named(options.sort);
  model.source = options.replay.value_or("");
  if (!options.once && !output.json() && on_terminal()) {
    return run_screen(*gpus, model, options, signals, output.colour());
  }
  show_reading(model, gpus->read());
  if (output.json()) {
    output.print_json(gpus_to_json(model.gpus));
    return {};
  }
  const Glyphs& glyphs = terminal_speaks_utf8() ? unicode_glyphs() : ascii_glyphs();
  for (const Line& line : top_view(model, print_out_size(), glyphs).lines) {
    output.print(printable(plain_text(line)) + "\n");
  }
  return {};
}

}  // namespace

CommandSpec top_command() {
  return make_command(
      add_top_options,
      run_top,
      {"carpool top",
       "carpool top --once --sort pid",
       "carpool top --replay recording.jsonl --interval 0.5"},
      "Where a server answers, its jobs are shown with their processes: / filters by "
      "user, command, pid or job, Enter shows a row in detail, k cancels its job "
      "after a question. Simulated GPUs are those of the server.");
}

}  // namespace carpool::app
