#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/clock.hpp"
#include "base/process/stop_signals.hpp"
#include "gpu/replay/recorder.hpp"

namespace carpool::app {
namespace {

struct RecordOptions {
  std::string output;
  std::optional<double> seconds;  // absent: until a signal arrives
  double interval_seconds = 0.2;
};

void add_record_options(OptionSet& options, RecordOptions& record) {
  options.option("-o,--output",
                 &record.output,
                 "FILE",
                 "File to write, JSON lines; a recording of the same GPUs is continued",
                 {.required = true});
  options.option("--seconds",
                 &record.seconds,
                 "SECONDS",
                 "Length of the recording (default: until Ctrl-C)",
                 {.check = seconds_from(kShortestIntervalSeconds)});
  options.option("--interval",
                 &record.interval_seconds,
                 "SECONDS",
                 "Time between readings (default: 0.2)",
                 {.check = seconds_from(kShortestIntervalSeconds)});
}

struct Recorded {
  std::size_t readings = 0;
  double seconds = 0.0;
};

// Readings are due at multiples of the interval since the start, so that their cost adds no drift.
Result<Recorded> record(gpu::Recorder& recorder,
                        const RecordOptions& options,
                        StopSignals& signals,
                        const Output& output) {
  const double last = options.seconds.value_or(0.0) / options.interval_seconds;
  const auto planned =
      options.seconds ? static_cast<std::size_t>(std::floor(last + 1e-9)) + 1 : std::size_t{0};
  Progress progress(fmt::format("recording to {}", options.output), planned, output.progress());
  const Stopwatch watch;
  Recorded done;
  while (planned == 0 || done.readings < planned) {
    const double due = static_cast<double>(done.readings) * options.interval_seconds;
    const std::chrono::duration<double> wait(due - watch.seconds());
    if (signals.wait_for(std::chrono::duration_cast<std::chrono::nanoseconds>(wait))) {
      break;
    }
    if (auto taken = recorder.take(); !taken) {
      return tl::unexpected(std::move(taken.error()));
    }
    ++done.readings;
    done.seconds = watch.seconds();
    if (planned != 0) {
      progress.advance(fmt::format("{} readings", done.readings));
    }
  }
  return done;
}

Result<void> run_record(const RecordOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  StopSignals signals;
  auto source = open_gpus();
  if (!source) {
    return tl::unexpected(source.error());
  }
  const auto gpus = (*source)->list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  if (gpus->empty()) {
    return fail(ErrorCode::Unsupported,
                "no GPU to record: the driver works but finds none; see carpool doctor");
  }
  auto recorder = gpu::Recorder::open(**source, options.output);
  if (!recorder) {
    return tl::unexpected(recorder.error());
  }
  if (!options.seconds) {
    output.remark("Recording; press Ctrl-C to stop.");
  }
  const auto done = record(*recorder, options, signals, output);
  if (!done) {
    return tl::unexpected(done.error());
  }
  if (output.json()) {
    output.print_json({{"file", options.output},
                       {"gpus", recorder->gpus()},
                       {"readings", done->readings},
                       {"seconds", done->seconds}});
  } else {
    output.print(fmt::format("{} readings of {} GPU{} in {:.1f} s: {}\n",
                             done->readings,
                             recorder->gpus(),
                             recorder->gpus() == 1 ? "" : "s",
                             done->seconds,
                             options.output));
  }
  return {};
}

}  // namespace

CommandSpec record_command() {
  return make_command(add_record_options,
                      run_record,
                      {"carpool record --seconds 2 -o busy.jsonl",
                       "carpool record --seconds 1 --interval 0.1 -o idle.jsonl"});
}

}  // namespace carpool::app
