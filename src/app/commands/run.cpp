#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/launch/foreground_program.hpp"
#include "app/launch/gpu_share.hpp"
#include "app/launch/kernel_log_file.hpp"
#include "app/launch/shim_environment.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::app {
namespace {

constexpr std::chrono::milliseconds kKeepEvery{1000};
constexpr std::chrono::milliseconds kLogEvery{10};

struct RunOptions {
  std::vector<std::string> command;
  std::optional<std::string> mem;
  std::optional<std::string> mem_guarantee;
  std::string mps = "auto";
  unsigned gpu = 0;
  std::optional<std::string> kernel_log;
  bool learn_kernels = false;
};

std::string memory_problem(const std::string& text) {
  const auto parsed = parse_memory_size(text);
  return parsed ? std::string() : parsed.error().message;
}

void add_options_of_run(OptionSet& options, RunOptions& run) {
  options.program("command",
                  run.command,
                  "COMMAND",
                  "Program and its arguments, behind --; options of carpool come before it");
  options.option("--mem",
                 &run.mem,
                 "SIZE",
                 "GPU memory that all processes of the program may use together, such as 40G; "
                 "beyond it, allocations fail (default: what the GPU has)",
                 {.check = memory_problem});
  options.option("--mem-guarantee",
                 &run.mem_guarantee,
                 "SIZE",
                 "GPU memory that other programs leave to this one (default: none)",
                 {.check = memory_problem});
  options.option("--mps",
                 &run.mps,
                 "WHEN",
                 "Share the GPU by MPS: on, off, or auto (default), which uses it where it works; "
                 "without it programs take turns",
                 {.choices = {"auto", "on", "off"}});
  options.option("--gpu",
                 &run.gpu,
                 "I",
                 "Index of the GPU, as in carpool gpus (default: 0)",
                 {.check = whole_number()});
  options.option("--kernel-log",
                 &run.kernel_log,
                 "FILE",
                 "Write time, process, stream and kernel of every launch to this CSV file");
  options.flag("--learn-kernels",
               run.learn_kernels,
               "Measure some launches, so that the durations of kernels become known");
}

std::optional<std::uint64_t> given_bytes(const std::optional<std::string>& text) {
  return text ? std::optional(parse_memory_size(*text).value_or(0)) : std::nullopt;
}

Result<GpuInfo> choose_gpu(unsigned index) {
  const auto telemetry = open_gpus();
  if (!telemetry) {
    return tl::unexpected(telemetry.error());
  }
  const auto gpus = (*telemetry)->list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  for (const GpuInfo& gpu : *gpus) {
    if (gpu.index == index) {
      return gpu;
    }
  }
  return invalid_input(fmt::format(
      "there is no GPU {}; the driver finds {} (see carpool gpus)", index, gpus->size()));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<ShareRequest> share_request(const RunOptions& options) {
  if (options.command.empty()) {
    return invalid_input("no program; give it behind --: carpool run -- python train.py");
  }
  ShareRequest request;
  request.limit_bytes = given_bytes(options.mem);
  request.guarantee_bytes = given_bytes(options.mem_guarantee);
  request.mps = options.mps == "on"    ? MpsWish::On
                : options.mps == "off" ? MpsWish::Off
                                       : MpsWish::Auto;
  if (request.limit_bytes && request.guarantee_bytes.value_or(0) > *request.limit_bytes) {
    return invalid_input(fmt::format(
        "--mem-guarantee {} is more than --mem {}", *options.mem_guarantee, *options.mem));
  }
  return choose_gpu(options.gpu).map([&](GpuInfo gpu) {
    request.gpu = std::move(gpu);
    return request;
  });
}

// What the programs of the run do beside counting. Null without --kernel-log.
Result<std::unique_ptr<KernelLogFile>> start_log(const RunOptions& options,
                                                 const GpuShare& share,
                                                 const std::string& gpu_uuid) {
  std::uint64_t wanted =
      options.learn_kernels ? interpose::kWantDurations : interpose::kWantNothing;
  wanted |= options.kernel_log ? interpose::kWantLog : interpose::kWantNothing;
  if (wanted == 0) {
    return nullptr;
  }
  interpose::StateReader state;
  interpose::StateError error = state.open(share.state_folder().string(), gpu_uuid, ::geteuid());
  if (error == interpose::StateError::None) {
    error = state.want_of_job(share.job(), wanted);
  }
  if (error != interpose::StateError::None) {
    return conflict(
        fmt::format("{}: {}", share.state_folder().string(), interpose::describe(error)));
  }
  return options.kernel_log
             ? KernelLogFile::create(*options.kernel_log, std::move(state), share.job())
             : nullptr;
}

int wait_for_end(ForegroundProgram& program, GpuShare& share, KernelLogFile* log) {
  Stopwatch since_kept;
  for (;;) {
    const std::optional<int> code = program.wait_for(log != nullptr ? kLogEvery : kKeepEvery);
    if (code) {
      return *code;
    }
    if (log != nullptr) {
      log->collect();
    }
    if (log == nullptr ||
        std::chrono::duration<double>(kKeepEvery).count() <= since_kept.seconds()) {
      share.keep();
      since_kept = Stopwatch();
    }
  }
}

Result<void> end_of_log(KernelLogFile& log) {
  const Result<void> written = log.finish();
  if (log.missed() > 0) {
    log_warning(fmt::format(
        "{} launches are not in the kernel log: they came faster than it could be written",
        log.missed()));
  }
  return written;
}

Result<void> run_run(const RunOptions& options, const CommandContext& context) {
  ForegroundProgram program;  // first, because telemetry starts a thread
  const auto library = find_shim_library();
  if (!library) {
    return tl::unexpected(library.error());
  }
  const Result<std::string> driver = find_driver(*library);
  const Result<ShareRequest> request = share_request(options);
  if (!request) {
    return tl::unexpected(request.error());
  }
  if (!driver) {
    return tl::unexpected(driver.error());
  }
  const auto share = GpuShare::take(*request);
  if (!share) {
    return tl::unexpected(share.error());
  }
  auto log = start_log(options, **share, request->gpu.uuid);
  if (!log) {
    return tl::unexpected(log.error());
  }
  std::map<std::string, std::string> environment = (*share)->environment();
  environment.merge(
      shim_environment({.library = *library,
                        .real_libcuda = *driver,
                        .state_folder = (*share)->state_folder(),
                        .name = std::filesystem::path(options.command.front()).filename().string(),
                        .job = (*share)->job(),
                        .limit_bytes = request->limit_bytes,
                        .guarantee_bytes = request->guarantee_bytes},
                       variable("LD_PRELOAD"),
                       variable("LD_LIBRARY_PATH")));
  if (const Result<void> started = program.start(options.command, environment); !started) {
    return started;
  }
  context.exit_code = wait_for_end(program, **share, log->get());
  return *log ? end_of_log(**log) : Result<void>();
}

}  // namespace

CommandSpec run_command() {
  return make_command(add_options_of_run,
                      run_run,
                      {"carpool run --mem 40G -- python3 serve.py",
                       "carpool run --mem-guarantee 20G --mps on -- python3 serve.py",
                       "carpool run --mps off --gpu 0 -- python3 serve.py",
                       "carpool run --kernel-log launches.csv -- python3 serve.py"});
}

}  // namespace carpool::app
