#include "app/top/served_gpus.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/remote/remote_access.hpp"
#include "observe/process_owners.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kServerPatience{2};
// A server that hangs is asked rarely: each question waits.
constexpr std::size_t kSkipAfterFailure = 10;

std::optional<double> ratio(const json& gpu, const char* key) {
  return gpu.contains(key) ? std::optional(gpu.at(key).get<double>()) : std::nullopt;
}

GpuJob job_from(const json& job) {
  return {.id = job.value("id", JobId{0}),
          .user = job.value("user", ""),
          .name = job.value("name", ""),
          .mechanism = job.value("mechanism", ""),
          .run_s = job.value("run_s", 0.0),
          .used_bytes = job.value("used_bytes", std::uint64_t{0}),
          .reserved_bytes = job.value("reserved_bytes", std::uint64_t{0}),
          .paused = job.value("paused", false),
          .sm_active = ratio(job, "sm_active_ratio"),
          .supervisor = job.value("supervisor_pid", pid_t{0}),
          .session = job.value("session", pid_t{0})};
}

GpuReading reading_from(const json& gpu) {
  GpuReading reading;
  reading.info.index = gpu.value("index", 0U);
  reading.info.uuid = gpu.value("uuid", "");
  reading.info.name = gpu.value("name", "");
  if (reading.info.name.empty()) {
    reading.info.name = "simulated GPU";
  }
  reading.info.memory_bytes = gpu.value("memory_bytes", std::uint64_t{0});
  reading.info.fine_activity = true;
  reading.sample.emplace().memory_used_bytes = gpu.value("used_bytes", std::uint64_t{0});
  GpuActivity& activity = reading.activity.emplace();
  activity.sm_active = ratio(gpu, "sm_active_ratio");
  activity.sm_occupancy = ratio(gpu, "sm_occupancy_ratio");
  activity.dram_active = ratio(gpu, "dram_active_ratio");
  reading.problem = gpu.value("unusable", "");
  reading.jobs.emplace();
  for (const json& job : gpu.value("jobs", json::array())) {
    reading.jobs->push_back(job_from(job));
  }
  return reading;
}

// By the process table of this machine.
JobOfProcess owners_of(const std::vector<GpuReading>& served) {
  std::vector<observe::JobProcesses> running;
  for (const GpuReading& gpu : served) {
    for (const GpuJob& job : *gpu.jobs) {
      if (job.supervisor != 0) {
        running.push_back({.job = job.id, .supervisor = job.supervisor, .session = job.session});
      }
    }
  }
  return [owners = observe::find_process_owners(running, {})](std::int64_t pid) {
    const observe::ProcessOwner owner = owners.owner(pid);
    return owner.kind == observe::ProcessOwner::Kind::Job ? std::optional(owner.job) : std::nullopt;
  };
}

Result<std::vector<GpuReading>> ask_server(const ServerOptions& options, std::string& mode) {
  return ServerClient::connect(options, kServerPatience)
      .and_then([](ServerClient server) { return server.get("/v1/gpus"); })
      .map([&](const json& answer) {
        mode = answer.value("mode", "");
        return served_readings(answer);
      });
}

bool same_gpu(const GpuInfo& info, const std::string& uuid) {
  return info.uuid == uuid || std::ranges::find(info.mig, uuid, &MigSlice::uuid) != info.mig.end();
}

}  // namespace

std::vector<GpuReading> served_readings(const json& answer) {
  std::vector<GpuReading> readings;
  for (const json& gpu : answer.value("gpus", json::array())) {
    readings.push_back(reading_from(gpu));
  }
  return readings;
}

void join_jobs(std::vector<GpuReading>& gpus,
               const std::vector<GpuReading>& served,
               const JobOfProcess& job_of) {
  for (GpuReading& gpu : gpus) {
    for (const GpuReading& other : served) {
      if (!same_gpu(gpu.info, other.info.uuid) || !other.jobs) {
        continue;
      }
      if (!gpu.jobs) {
        gpu.jobs.emplace();
      }
      gpu.jobs->insert(gpu.jobs->end(), other.jobs->begin(), other.jobs->end());
    }
    for (NamedProcess& entry : gpu.processes) {
      entry.job = gpu.jobs && !gpu.jobs->empty() ? job_of(entry.process.pid) : std::nullopt;
    }
  }
}

Result<ServedGpus> ServedGpus::open(const std::optional<std::string>& replay,
                                    const ServerOptions& server) {
  if (replay) {
    return GpuWatch::open(replay).map(
        [](GpuWatch watch) { return ServedGpus(std::move(watch), std::nullopt); });
  }
  std::string mode;
  const auto served = ask_server(server, mode);
  if (served && (mode == "simulated" || remote_host(server))) {
    return ServedGpus(std::nullopt, server);
  }
  Result<GpuWatch> watch = GpuWatch::open(replay);
  // Without a driver here, as in a container that has only the socket, the server's view remains.
  if (!watch && !served) {
    return tl::unexpected(watch.error());
  }
  return watch ? ServedGpus(std::move(*watch), server) : ServedGpus(std::nullopt, server);
}

std::vector<GpuReading> ServedGpus::ask() {
  if (!server_ || skipped_ > 0) {
    skipped_ -= skipped_ > 0 ? 1 : 0;
    return {};
  }
  std::string mode;
  Result<std::vector<GpuReading>> served = ask_server(*server_, mode);
  if (served) {
    return std::move(*served);
  }
  skipped_ = kSkipAfterFailure;
  return {};
}

std::vector<GpuReading> ServedGpus::read() {
  std::vector<GpuReading> served = ask();
  if (!watch_) {
    return served;
  }
  std::vector<GpuReading> gpus = watch_->read();
  join_jobs(gpus, served, owners_of(served));
  return gpus;
}

Result<void> ServedGpus::cancel(JobId job) {
  return ServerClient::connect(server_.value_or(ServerOptions{}), kServerPatience)
      .and_then([&](ServerClient server) {
        return server.post(fmt::format("/v1/jobs/{}/cancel", job), json::object());
      })
      .map([](const json&) {});
}

}  // namespace carpool::app
