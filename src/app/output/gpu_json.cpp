// The JSON of `carpool gpus`.
#include "gpu/replay/gpu_json.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "app/output/gpu_table.hpp"
#include "app/server/shim/gate_tally.hpp"
#include "base/text/printable.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

json job_to_json(const GpuJob& job) {
  json out{{"id", job.id},
           {"user", job.user},
           {"mechanism", job.mechanism},
           {"used_bytes", job.used_bytes},
           {"reserved_bytes", job.reserved_bytes},
           {"run_s", job.run_s},
           {"paused", job.paused}};
  if (!job.name.empty()) {
    out["name"] = job.name;
  }
  if (job.sm_active) {
    out["sm_active"] = *job.sm_active;
  }
  return out;
}

json client_to_json(const ShimClient& client) {
  const interpose::ClientReport& seen = client.seen;
  json out{{"pid", seen.pid},
           {"name", printable(seen.name)},
           {"job", seen.job},
           {"class", seen.job_class == interpose::JobClass::Slo ? "slo" : "best-effort"},
           {"orphaned", seen.orphaned},
           {"launches", seen.launches},
           {"graph_launches", seen.graph_launches},
           {"graph_kernels", seen.graph_nodes},
           {"copies", seen.copies},
           {"copied_bytes", seen.copied_bytes},
           {"allocations", seen.allocations},
           {"refused_allocations", seen.refusals},
           {"memory_bytes", seen.used_bytes},
           {"peak_memory_bytes", seen.peak_bytes},
           {"context_bytes", seen.context_bytes}};
  if (client.limit_bytes) {
    out["memory_limit_bytes"] = *client.limit_bytes;
  }
  if (takes_part(seen.gate)) {
    out["gate"] = serve::gate_view(gate_of(seen.gate));
  }
  if (client.rates) {
    out["launches_per_second"] = client.rates->launches;
    out["graph_launches_per_second"] = client.rates->graph_launches;
    out["copies_per_second"] = client.rates->copies;
  }
  return out;
}

json process_to_json(const NamedProcess& named) {
  json process = gpu::to_json(named.process);
  if (!named.name.user.empty()) {
    process["user"] = named.name.user;
    process["command"] = named.name.command;
  }
  if (named.job) {
    process["job"] = *named.job;
  }
  if (named.sm_active) {
    process["sm_active"] = *named.sm_active;
  }
  if (named.library) {
    process["library"] = *named.library;
  }
  return process;
}

}  // namespace

json gpus_to_json(const std::vector<GpuReading>& gpus) {
  json out = json::array();
  for (const GpuReading& gpu : gpus) {
    json entry = gpu::to_json(gpu.info);
    if (gpu.sample) {
      entry["sample"] = gpu::to_json(*gpu.sample);
    }
    if (gpu.activity) {
      entry["activity"] = gpu::to_json(*gpu.activity);
    }
    entry["processes"] = json::array();
    for (const NamedProcess& named : gpu.processes) {
      entry["processes"].push_back(process_to_json(named));
    }
    entry["clients"] = json::array();
    for (const ShimClient& client : gpu.clients) {
      entry["clients"].push_back(client_to_json(client));
    }
    if (gpu.jobs) {
      entry["jobs"] = json::array();
      for (const GpuJob& job : *gpu.jobs) {
        entry["jobs"].push_back(job_to_json(job));
      }
    }
    if (!gpu.problem.empty()) {
      entry["problem"] = gpu.problem;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace carpool::app
