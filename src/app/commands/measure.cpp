#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "measure/campaign.hpp"
#include "profile/watch/scratch.hpp"

namespace carpool::app {
namespace {

struct MeasureOptions {
  std::string plan;
  std::string folder;                   // of the dataset
  std::optional<double> limit_seconds;  // absent: to the end of the plan
  bool retry_failed = false;
  bool dry_run = false;
};

void add_measure_options(OptionSet& options, MeasureOptions& measure) {
  options.positional("plan",
                     &measure.plan,
                     "PLAN.toml",
                     "Plan of the measurements (docs/measuring.md)",
                     {.required = true});
  options.option("-o,--output",
                 &measure.folder,
                 "DIR",
                 "Dataset folder to write; that of an interrupted run is continued");
  options.option("--time-limit",
                 &measure.limit_seconds,
                 "SECONDS",
                 "Time after which no measurement starts, so that a run fits a time slot",
                 {.check = above_zero()});
  options.flag("--retry-failed", measure.retry_failed, "Repeat measurements that failed before");
  options.flag("--dry-run", measure.dry_run, "Show what would be measured and exit");
}

Result<measure::Plan> load_plan(const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return measure::parse_plan(*text, path);
}

// An empty folder or that of an earlier run: files of other origin are not replaced.
Result<void> take_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    return invalid_input(fmt::format("folder {}: {}", folder.string(), problem.message()));
  }
  if (!std::filesystem::exists(folder / measure::kJournalName, problem) &&
      !std::filesystem::is_empty(folder, problem)) {
    return invalid_input(fmt::format(
        "folder {} holds files that `carpool measure` did not write: name an empty or a new one",
        folder.string()));
  }
  return {};
}

// Of all windows, without the start of the workers, which is not known beforehand.
double window_seconds(const measure::Plan& plan, const std::vector<measure::Cell>& cells) {
  return static_cast<double>(cells.size()) * (plan.window.seconds + plan.window.warm_seconds);
}

void show_plan(const measure::Plan& plan, const Output& output) {
  const std::vector<measure::Cell> cells = measure::expand(plan);
  const std::vector<measure::Batch> batches = measure::into_batches(cells, plan);
  if (output.json()) {
    nlohmann::json out = {{"plan", plan.name},
                          {"windows", cells.size()},
                          {"window_seconds", window_seconds(plan, cells)},
                          {"batches", nlohmann::json::array()}};
    for (const measure::Batch& batch : batches) {
      nlohmann::json& entry = out["batches"].emplace_back();
      entry["mechanism"] = name_of(batch.members.front().mechanism);
      entry["workers"] = batch.members.size();
      for (const measure::Cell& cell : batch.cells) {
        entry["windows"].push_back(measure::key_of(cell, plan));
      }
    }
    output.print_json(out);
    return;
  }
  TextTable table(output.colour());
  table.add_column("batch", TextTable::Align::Right);
  table.add_column("mechanism", TextTable::Align::Left);
  table.add_column("workers", TextTable::Align::Right);
  table.add_column("windows", TextTable::Align::Right);
  table.add_column("solo", TextTable::Align::Right);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto& cells_here = batches[i].cells;
    table.add_row({std::to_string(i + 1),
                   std::string(name_of(batches[i].members.front().mechanism)),
                   std::to_string(batches[i].members.size()),
                   std::to_string(cells_here.size()),
                   std::to_string(std::ranges::count_if(cells_here, &measure::Cell::solo))});
  }
  output.print(table.render());
  output.remark(
      fmt::format("{} windows, at least {:.1f} minutes, and the start of {} batches of "
                  "workers",
                  cells.size(),
                  window_seconds(plan, cells) / 60.0,
                  batches.size()));
}

std::string in_short(const measure::Measurement& measurement) {
  if (measurement.failure) {
    return fmt::format("{}: {}", measurement.key, measurement.failure->reason);
  }
  return fmt::format("{} in {:.1f} s", measurement.key, measurement.spent_seconds);
}

void show_outcome(const measure::CampaignOutcome& outcome,
                  const MeasureOptions& options,
                  const Output& output) {
  if (output.json()) {
    output.print_json({{"folder", options.folder},
                       {"windows", outcome.planned},
                       {"done", outcome.done},
                       {"failed", outcome.failed},
                       {"measured_now", outcome.measured},
                       {"complete", outcome.done == outcome.planned}});
    return;
  }
  output.print(fmt::format("{}: {} of {} windows measured, {} of them failed\n",
                           options.folder,
                           outcome.done,
                           outcome.planned,
                           outcome.failed));
  if (outcome.done < outcome.planned) {
    output.remark("Run the same command again to continue.");
  } else {
    output.remark(
        fmt::format("Evaluate the models on it: carpool evaluate --data {} --protocol "
                    "random --train-fraction 0.5 --seeds 20",
                    options.folder));
  }
  if (outcome.failed > 0) {
    output.remark(
        fmt::format("{}/failures.csv tells why; --retry-failed repeats them.", options.folder));
  }
}

Result<void> run_measure(const MeasureOptions& options, const CommandContext& context) {
  const auto plan = load_plan(options.plan);
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  if (options.dry_run) {
    show_plan(*plan, context.output);
    return {};
  }
  if (options.folder.empty()) {
    return invalid_input("measure needs -o DIR, the dataset folder to write");
  }
  StopSignals signals;
  auto telemetry = open_gpus();
  if (!telemetry) {
    return tl::unexpected(telemetry.error());
  }
  if (auto taken = take_folder(options.folder); !taken) {
    return taken;
  }
  const auto scratch = profile::ScratchFolder::make();
  if (!scratch) {
    return tl::unexpected(scratch.error());
  }
  std::optional<Progress> progress;
  const measure::CampaignEvents events{
      .planned =
          [&](std::size_t windows) {
            progress.emplace(plan->name, windows, context.output.progress());
          },
      .starting = [&](const std::string& what) { progress->note("starting " + what); },
      .measured =
          [&](const measure::Measurement& measurement) {
            progress->advance(in_short(measurement));
          },
      .stop = [&] { return signals.came(); }};
  const auto outcome = measure::run_campaign(*plan,
                                             {.folder = options.folder,
                                              .scratch = scratch->path(),
                                              .mps_folder = scratch->mps_folder(),
                                              .limit_seconds = options.limit_seconds,
                                              .retry_failed = options.retry_failed},
                                             **telemetry,
                                             events);
  progress.reset();  // its line ends before the next output
  if (!outcome) {
    return tl::unexpected(outcome.error());
  }
  show_outcome(*outcome, options, context.output);
  return {};
}

}  // namespace

CommandSpec measure_command() {
  return make_command(add_measure_options,
                      run_measure,
                      {"carpool measure plan.toml --dry-run",
                       "carpool measure plan.toml -o measured --time-limit 540"},
                      "Needs a GPU with NVML and MPS; carpool doctor tells what is missing.");
}

}  // namespace carpool::app
