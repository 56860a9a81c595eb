#include <chrono>
#include <cstddef>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/output/gpu_table.hpp"
#include "app/top/served_gpus.hpp"
#include "base/clock.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct GpusOptions {
  std::optional<double> watch_seconds;  // absent: one reading
  std::optional<std::size_t> count;     // readings of --watch; absent: until a signal arrives
  bool processes = false;
  std::optional<std::string> replay;
  ServerOptions server;
};

void add_gpus_options(OptionSet& options, GpusOptions& gpus) {
  options.option("--watch",
                 &gpus.watch_seconds,
                 "SECONDS",
                 "Repeat at this interval until Ctrl-C",
                 {.check = seconds_from(kShortestIntervalSeconds), .bare_value = "2"});
  options.option("--count",
                 &gpus.count,
                 "N",
                 "Number of readings of --watch",
                 {.check = whole_number(1), .needs = "--watch"});
  options.flag("--processes", gpus.processes, "List the processes on each GPU");
  add_replay(options, gpus.replay);
  add_socket(options, gpus.server);
}

// The first activity span: twice what the counters need.
constexpr auto kFirstSpan = 2 * kShortestActivitySpan;

std::string screen(const std::vector<GpuReading>& gpus, bool processes, bool colour) {
  if (gpus.empty()) {
    return "The driver works but finds no usable GPU; `carpool doctor` tells more.\n";
  }
  std::string text = gpu_table(gpus, colour, terminal_columns());
  for (const std::string& note : gpu_footnotes(gpus)) {
    text += fmt::format("{}\n", note);
  }
  if (processes) {
    text += fmt::format("\n{}", process_table(gpus, colour));
  }
  return text;
}

void print_once(const std::vector<GpuReading>& gpus,
                const GpusOptions& options,
                const Output& output) {
  if (output.json()) {
    output.print_json(gpus_to_json(gpus));
  } else {
    output.print(screen(gpus, options.processes, output.colour()));
  }
}

void print_again(const std::vector<GpuReading>& gpus,
                 const GpusOptions& options,
                 const Output& output) {
  const std::string now = utc_timestamp();
  if (output.json()) {
    output.print_json_line({{"time", now}, {"gpus", gpus_to_json(gpus)}});
    return;
  }
  const std::string text =
      fmt::format("{}\n{}\n", now, screen(gpus, options.processes, output.colour()));
  isatty(STDOUT_FILENO) == 1 ? output.redraw(text) : output.print(text);
}

Result<void> watch(ServedGpus& gpus,
                   const GpusOptions& options,
                   StopSignals& signals,
                   const Output& output) {
  const std::chrono::duration<double> interval(options.watch_seconds.value_or(0.0));
  if (isatty(STDOUT_FILENO) == 1 && !output.json()) {
    output.clear_screen();
  }
  for (std::size_t shown = 0; !options.count || shown < *options.count; ++shown) {
    if (shown > 0 &&
        signals.wait_for(std::chrono::duration_cast<std::chrono::nanoseconds>(interval))) {
      break;
    }
    print_again(gpus.read(), options, output);
    if (auto written = output.flush(); !written) {
      return written;
    }
  }
  return {};
}

Result<void> run_gpus(const GpusOptions& options, const CommandContext& context) {
  StopSignals signals;
  auto gpus = ServedGpus::open(options.replay, options.server);
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  if (signals.wait_for(kFirstSpan)) {
    return {};
  }
  if (options.watch_seconds) {
    return watch(*gpus, options, signals, context.output);
  }
  print_once(gpus->read(), options, context.output);
  return {};
}

}  // namespace

CommandSpec gpus_command() {
  return make_command(add_gpus_options,
                      run_gpus,
                      {"carpool gpus",
                       "carpool gpus --processes --json",
                       "carpool gpus --watch 1 --count 2",
                       "carpool gpus --replay recording.jsonl"},
                      "Where a server answers, the jobs on each GPU are shown; simulated GPUs are "
                      "those of the server.");
}

}  // namespace carpool::app
