#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/commands/profile_options.hpp"
#include "app/inputs/profile_ncu.hpp"
#include "app/inputs/workload_name.hpp"
#include "app/output/profile_output.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/files/file.hpp"
#include "base/log.hpp"
#include "base/process/stop_signals.hpp"
#include "profile/profiler.hpp"
#include "profile/watch/scratch.hpp"

namespace carpool::app {
namespace {

// A folder that cannot be written is an error before the program runs, not after.
Result<void> try_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    return invalid_input(fmt::format("folder {}: {}", folder, problem.message()));
  }
  return {};
}

profile::ProfileRequest request_for(const ProfileOptions& options,
                                    const std::string& name,
                                    const GpuInfo& gpu,
                                    const std::filesystem::path& scratch) {
  profile::ProfileRequest request;
  request.name = name;
  request.gpu = gpu;
  request.program.command = options.command;
  request.program.gpu_uuid = gpu.uuid;
  request.program.scratch = scratch;
  request.program.step_regex = options.step_regex;
  request.program.injection.counters = options.counters;
  request.program.injection.nvtx_range = options.nvtx;
  request.window = {.least_steps = options.steps,
                    .least_seconds = options.seconds,
                    .most_seconds = std::max(options.longest_seconds, options.seconds),
                    .start_seconds = options.start_seconds,
                    .after_seconds = options.after_seconds};
  return request;
}

// With other processes on the GPU the profile is not that of the program solo.
void warn_of_others(TelemetrySource& telemetry, const GpuInfo& gpu) {
  const auto processes = telemetry.processes(gpu.index);
  if (processes && !processes->empty()) {
    log_warning(
        fmt::format("{} other process{} on GPU {}: the profile is not that of the program solo",
                    processes->size(),
                    processes->size() == 1 ? " is" : "es are",
                    gpu.index));
  }
}

Result<void> write_out(const profile::ProfileResult& result,
                       const ProfileOptions& options,
                       const Output& output) {
  const auto file = profile::save_profile(
      result.profile,
      result.kernels.launches > 0 ? profile::kernel_csv(result.kernels) : std::string(),
      options.folder);
  if (!file) {
    return tl::unexpected(file.error());
  }
  if (output.json()) {
    nlohmann::json out = profile_to_json(result.profile);
    out["file"] = file->string();
    output.print_json(out);
    return {};
  }
  output.print(profile_summary(result.profile, result.kernels));
  if (!result.kernels.rows.empty()) {
    output.print(kernel_lines(result.kernels, output.colour()));
  }
  for (const std::string& note : result.profile.notes) {
    output.remark(fmt::format("Note: {}", note));
  }
  output.print(fmt::format("{}\n", file->string()));
  return {};
}

// The metrics of an export go into the profile of that name in the folder.
Result<void> import_command(const ProfileOptions& options,
                            const std::string& name,
                            const CommandContext& context) {
  const auto file =
      std::filesystem::path(options.folder) / fmt::format("{}{}", name, profile::kProfileSuffix);
  const auto imported = import_ncu(*options.from_ncu, name, file);
  if (!imported) {
    return tl::unexpected(imported.error());
  }
  if (auto made = try_folder(options.folder); !made) {
    return made;
  }
  if (auto written = write_file(file, profile::profile_json(imported->profile)); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json(profile_to_json(imported->profile));
  } else {
    context.output.print(
        fmt::format("{}: metrics of {} launches\n", file.string(), imported->launches));
  }
  return {};
}

Result<void> profile_command(const ProfileOptions& options,
                             const std::string& name,
                             const CommandContext& context) {
  StopSignals signals;
  auto telemetry = open_gpus();
  if (!telemetry) {
    return tl::unexpected(telemetry.error());
  }
  const auto gpu = find_gpu(**telemetry, options.gpu);
  if (!gpu) {
    return tl::unexpected(gpu.error());
  }
  if (auto made = try_folder(options.folder); !made) {
    return made;
  }
  const auto scratch = profile::ScratchFolder::make();
  if (!scratch) {
    return tl::unexpected(scratch.error());
  }
  warn_of_others(**telemetry, *gpu);
  profile::ProfileRequest request = request_for(options, name, *gpu, scratch->path());
  std::optional<std::string> no_library;
  if (!options.no_activity) {
    auto library = gpu::find_profile_library();
    if (library) {
      request.program.library = std::move(*library);
    } else {
      no_library = library.error().message;
      log_warning(fmt::format("{}; only the sensors of the GPU are read", *no_library));
    }
  }
  std::optional<Progress> progress;
  progress.emplace(
      fmt::format("profiling {}", name), options.ncu ? 2 : 1, context.output.progress());
  const profile::ProfileEvents events{
      .stop = [&] { return signals.came(); },
      .progress = [&](const std::string& what) { progress->note(what); }};
  auto result = profile::profile_program(request, **telemetry, events);
  if (!result) {
    return tl::unexpected(result.error());
  }
  if (no_library) {
    result->profile.notes.push_back(std::move(*no_library));
  }
  if (options.ncu) {
    progress->advance("run without Nsight Compute");
    if (auto added = add_ncu_run(request, options.ncu_seconds, events, *result); !added) {
      return added;
    }
  }
  progress.reset();  // its line ends before the next output
  return write_out(*result, options, context.output);
}

Result<void> run_profile(const ProfileOptions& options, const CommandContext& context) {
  if (options.from_ncu.has_value() == !options.command.empty()) {
    return invalid_input(
        options.from_ncu ? "--from-ncu reads an export and runs no program: leave the command out"
                         : "no command given: carpool profile -- python3 train.py");
  }
  if (options.from_ncu && options.name.empty()) {
    return invalid_input("--from-ncu needs --name, the workload of the export");
  }
  const auto name = workload_name(options.name, options.command);
  if (!name) {
    return tl::unexpected(name.error());
  }
  return options.from_ncu ? import_command(options, *name, context)
                          : profile_command(options, *name, context);
}

}  // namespace

CommandSpec profile_command() {
  return make_command(
      add_profile_options,
      run_profile,
      {"carpool profile -- python3 train.py --epochs 3",
       "carpool profile --name bert --step-regex 'step (\\d+)' -o profiles -- python3 train.py",
       "carpool profile --no-activity --seconds 1 -- python3 train.py",
       "carpool profile --name bert --from-ncu bert.csv -o profiles"});
}

}  // namespace carpool::app
