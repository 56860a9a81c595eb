#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/launch/foreground_program.hpp"
#include "app/launch/gpu_share.hpp"
#include "app/launch/shim_environment.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/text/memory_size.hpp"
#include "interpose/launch/real_libcuda.hpp"

namespace carpool::app {
namespace {

constexpr std::chrono::milliseconds kKeepEvery{1000};

struct RunOptions {
  std::vector<std::string> command;
  std::optional<std::string> mem;
  std::optional<std::string> mem_guarantee;
  std::string mps = "auto";
  unsigned gpu = 0;
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

// A program that runs with the library starts another one: the loader would name the library.
std::optional<std::string> driver_path(const std::filesystem::path& library) {
  if (variable("LD_PRELOAD").find(library.filename().string()) != std::string::npos) {
    return variable("CARPOOL_REAL_LIBCUDA");
  }
  return interpose::find_real_libcuda();
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

Result<void> run_run(const RunOptions& options, const CommandContext& context) {
  ForegroundProgram program;  // first, because telemetry starts a thread
  const auto library = find_shim_library();
  if (!library) {
    return tl::unexpected(library.error());
  }
  const std::optional<std::string> driver = driver_path(*library);
  const Result<ShareRequest> request = share_request(options);
  if (!request) {
    return tl::unexpected(request.error());
  }
  if (!driver) {
    return fail(ErrorCode::Unsupported,
                "the loader finds no libcuda.so.1: install NVIDIA's driver, or name its folder in "
                "LD_LIBRARY_PATH");
  }
  const auto share = GpuShare::take(*request);
  if (!share) {
    return tl::unexpected(share.error());
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
  std::optional<int> code;
  while (!code) {
    code = program.wait_for(kKeepEvery);
    (*share)->keep();
  }
  context.exit_code = *code;
  return {};
}

}  // namespace

CommandSpec run_command() {
  return make_command(add_options_of_run,
                      run_run,
                      {"carpool run --mem 40G -- python3 serve.py",
                       "carpool run --mem-guarantee 20G --mps on -- python3 serve.py",
                       "carpool run --mps off --gpu 0 -- python3 serve.py"});
}

}  // namespace carpool::app
