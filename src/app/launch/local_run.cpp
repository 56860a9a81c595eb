#include "app/launch/local_run.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/launch/foreground_program.hpp"
#include "app/launch/gpu_share.hpp"
#include "app/launch/kernel_log_file.hpp"
#include "app/launch/memory_watch.hpp"
#include "app/launch/shim_environment.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text/memory_size.hpp"
#include "interpose/gate/policy.hpp"

namespace carpool::app {
namespace {

constexpr std::chrono::milliseconds kKeepEvery{1000};
constexpr std::chrono::milliseconds kLogEvery{10};

std::optional<std::uint64_t> given_bytes(const std::optional<std::string>& text) {
  return text ? std::optional(parse_memory_size(*text).value_or(0)) : std::nullopt;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Requests take longer under MPS, and best-effort programs take turns with them in any case
// (docs/gate.md).
MpsWish wish_of(const LocalRun& options, const GpuInfo& gpu) {
  if (options.mps != "auto") {
    return options.mps == "on" ? MpsWish::On : MpsWish::Off;
  }
  return options.latency.slo && !gpu.only_one_process() ? MpsWish::Off : MpsWish::Auto;
}

Result<ShareRequest> share_request(const LocalRun& options, TelemetrySource& telemetry) {
  ShareRequest request;
  request.limit_bytes = given_bytes(options.mem);
  request.guarantee_bytes = given_bytes(options.mem_guarantee);
  if (request.limit_bytes && request.guarantee_bytes.value_or(0) > *request.limit_bytes) {
    return invalid_input(fmt::format(
        "--mem-guarantee {} is more than --mem {}", *options.mem_guarantee, *options.mem));
  }
  return find_gpu(telemetry, options.gpu).map([&](GpuInfo gpu) {
    request.mps = wish_of(options, gpu);
    request.gpu = std::move(gpu);
    request.processes = telemetry.processes(options.gpu).value_or(std::vector<GpuProcess>());
    return request;
  });
}

const interpose::gate::Policy& policy_of(const LatencySettings& latency) {
  const auto* const named = interpose::gate::choose_policy(latency.policy.value_or("")).policy;
  return named != nullptr ? *named : interpose::gate::policies().front();
}

Result<void> check_policy(const LatencySettings& latency, bool mps) {
  const interpose::gate::Policy& policy = policy_of(latency);
  if (!latency.best_effort) {
    return {};
  }
  if (mps && policy.needs_mps) {
    log_info(fmt::format(
        "--policy {0} works beside a program with --slo that uses MPS too (carpool run --mps on "
        "--slo …); beside one that does not, {1} takes the place of {0}",
        policy.name,
        interpose::gate::policies().front().name));
  }
  if (mps) {
    return {};
  }
  if (policy.needs_mps) {
    return invalid_input(fmt::format(
        "--policy {} needs MPS, which this program does not use: leave --policy out, or see that "
        "--mps on works",
        policy.name));
  }
  if (!latency.policy) {
    log_info(
        "without MPS, its kernels run only between the requests of programs with --slo, and while "
        "such a program still launches");
  }
  return {};
}

Result<GateSettings> gate_of(const LatencySettings& latency, bool mps) {
  GateSettings gate{
      .quantile = latency.quantile, .policy = latency.policy.value_or(""), .mps = mps};
  if (latency.best_effort) {
    gate.job_class = JobClass::BestEffort;
  }
  if (latency.slo) {
    const Result<double> slo_ms = parse_latency_ms(*latency.slo);
    if (!slo_ms) {
      return tl::unexpected(slo_ms.error());
    }
    gate.job_class = JobClass::Slo;
    gate.slo_ms = *slo_ms;
  }
  return check_policy(latency, mps).map([&] { return gate; });
}

// What the programs of the run do beside counting. Null without --kernel-log.
Result<std::unique_ptr<KernelLogFile>> start_log(const LocalRun& options,
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

// The share lasts, and the state knows of the memory that its programs do not see.
void keep_share(GpuShare& share, MemoryWatch& memory) {
  share.keep();
  for (const std::string& process : memory.look(share.has_lock())) {
    log_warning(
        fmt::format("{} uses the GPU without the library in front of the driver: its memory limit "
                    "is not enforced. It is setuid, linked statically, or started with a cleared "
                    "environment",
                    process));
  }
}

int wait_for_end(ForegroundProgram& program,
                 GpuShare& share,
                 MemoryWatch& memory,
                 KernelLogFile* log) {
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
      keep_share(share, memory);
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

}  // namespace

Result<void> run_locally(const LocalRun& options, const CommandContext& context) {
  ForegroundProgram program;  // first, because telemetry starts a thread
  const auto library = find_shim_library();
  if (!library) {
    return tl::unexpected(library.error());
  }
  const Result<std::string> driver = find_driver(*library);
  Result<std::unique_ptr<TelemetrySource>> telemetry = open_gpus();
  if (!telemetry) {
    return tl::unexpected(telemetry.error());
  }
  const Result<ShareRequest> request = share_request(options, **telemetry);
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
  const Result<GateSettings> gate = gate_of(options.latency, (*share)->has_mps());
  if (!gate) {
    return tl::unexpected(gate.error());
  }
  std::map<std::string, std::string> environment = (*share)->environment();
  environment.merge(shim_environment({.library = *library,
                                      .real_libcuda = *driver,
                                      .state_folder = (*share)->state_folder(),
                                      .name = options.name,
                                      .job = (*share)->job(),
                                      .gate = *gate,
                                      .limit_bytes = request->limit_bytes,
                                      .guarantee_bytes = request->guarantee_bytes},
                                     {.preload = variable("LD_PRELOAD"),
                                      .library_path = variable("LD_LIBRARY_PATH"),
                                      .nvtx_tool = variable(kNvtxToolVariable),
                                      .connections = variable(kConnectionsVariable)}));
  if (gate->job_class == JobClass::BestEffort && gate->mps) {
    environment["CUDA_MPS_CLIENT_PRIORITY"] = "1";  // the lower of two
  }
  MemoryWatch memory(std::move(*telemetry), request->gpu, (*share)->state_folder());
  keep_share(**share, memory);
  if (const Result<void> started = program.start(options.command, environment); !started) {
    return started;
  }
  context.exit_code = wait_for_end(program, **share, memory, log->get());
  return *log ? end_of_log(**log) : Result<void>();
}

}  // namespace carpool::app
