#include "app/top/gpu_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/nvml/nvml_telemetry.hpp"
#include "gpu/replay/recording.hpp"
#include "gpu/replay/replay_telemetry.hpp"

namespace carpool::app {
namespace {

Result<std::unique_ptr<TelemetrySource>> open_source(const std::optional<std::string>& replay) {
  if (!replay) {
    return open_gpus();
  }
  auto recording = gpu::load_recording(*replay);
  if (!recording) {
    return tl::unexpected(std::move(recording.error()));
  }
  return std::make_unique<gpu::ReplayTelemetry>(std::move(*recording));
}

// A process that is not reported did not compute; some drivers do not tell clients of MPS apart.
std::optional<double> sm_active_of(const GpuProcess& process,
                                   const std::optional<std::vector<ProcessActivity>>& told) {
  if (!told) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(*told, process.pid, &ProcessActivity::pid);
  if (found != told->end()) {
    return found->sm_active;
  }
  return process.mps_client ? std::nullopt : std::optional(0.0);
}

}  // namespace

Result<std::unique_ptr<TelemetrySource>> open_gpus() {
  auto source = gpu::open_nvml();
  if (!source) {
    return fail(source.error().code,
                fmt::format("{}\nRun `carpool doctor` to check this machine. `carpool gpus` and "
                            "`carpool top` show a recording with --replay FILE.",
                            source.error().message));
  }
  return source;
}

Result<GpuInfo> find_gpu(TelemetrySource& gpus, unsigned index) {
  const auto known = gpus.list_gpus();
  if (!known) {
    return tl::unexpected(known.error());
  }
  const auto found = std::ranges::find(*known, index, &GpuInfo::index);
  if (found == known->end()) {
    return invalid_input(fmt::format(
        "there is no GPU {}; the driver finds {} (see carpool gpus)", index, known->size()));
  }
  return *found;
}

Result<GpuWatch> GpuWatch::open(const std::optional<std::string>& replay) {
  auto source = open_source(replay);
  if (!source) {
    return tl::unexpected(std::move(source.error()));
  }
  auto gpus = (*source)->list_gpus();
  if (!gpus) {
    return tl::unexpected(std::move(gpus.error()));
  }
  for (const GpuInfo& gpu : *gpus) {
    // A failure is shown when the GPU is read, where it occurs again.
    static_cast<void>((*source)->begin_activity(gpu.index));
  }
  GpuWatch watch(std::move(*source), std::move(*gpus), replay.has_value());
  watch.start_clients();
  return watch;
}

void GpuWatch::start_clients() {
  for (const GpuInfo& gpu : gpus_) {
    if (!recorded_) {
      static_cast<void>(shim_.read(gpu.uuid));
    }
  }
}

std::vector<GpuReading> GpuWatch::read() {
  std::vector<GpuReading> readings;
  readings.reserve(gpus_.size());
  for (const GpuInfo& gpu : gpus_) {
    readings.push_back(read_one(gpu));
  }
  return readings;
}

GpuReading GpuWatch::read_one(const GpuInfo& info) {
  GpuReading reading;
  reading.info = info;
  if (!recorded_) {
    reading.clients = shim_.read(info.uuid);
  }
  auto sample = source_->sample(info.index);
  if (!sample) {
    reading.problem = sample.error().message;
    return reading;
  }
  reading.sample = std::move(*sample);
  if (auto activity = source_->activity(info.index); activity) {
    reading.activity = std::move(*activity);
  } else {
    reading.problem = activity.error().message;
  }
  read_processes(reading);
  return reading;
}

void GpuWatch::read_processes(GpuReading& reading) {
  const auto processes = source_->processes(reading.info.index);
  if (!processes) {
    reading.problem = processes.error().message;
    return;
  }
  if (processes->empty()) {
    return;
  }
  const ProcessReading& activity = process_reading(reading.info.index);
  for (const GpuProcess& process : *processes) {
    reading.processes.push_back({.process = process,
                                 .name = recorded_ ? ProcessName{} : name_process(process.pid),
                                 .sm_active = sm_active_of(process, activity.told),
                                 .library = has_library(reading.clients, process.pid)});
  }
}

// The driver samples processes up to once a second: between two samples it tells of none.
const GpuWatch::ProcessReading& GpuWatch::process_reading(unsigned gpu) {
  constexpr double kSampleSeconds = 0.9;
  const auto [known, first] = process_readings_.try_emplace(gpu);
  if (first || known->second.since.seconds() >= kSampleSeconds) {
    known->second = {.told = source_->process_activity(gpu).value_or(std::nullopt)};
  }
  return known->second;
}

}  // namespace carpool::app
