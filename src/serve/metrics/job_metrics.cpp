// Metrics of jobs on GPUs, for a bounded number of jobs.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/job_names.hpp"
#include "serve/job_view.hpp"
#include "serve/metrics/metric_source.hpp"

namespace carpool::serve {
namespace {

bool has_series(const MetricSource& from, JobId job) {
  return std::ranges::binary_search(from.jobs, job);
}

// The name of a job is its owner's, as in listings.
std::string_view name_for(const MetricSource& from, const JobRecord& job) {
  return from.caller.may_touch(job.owner) ? std::string_view(shown_name(job)) : std::string_view();
}

void read_job_info(const MetricSource& from, Samples& out) {
  for (const JobId id : from.jobs) {
    const JobRecord* job = from.scheduler.find(id);
    const JobAttempt* running = job == nullptr ? nullptr : job->running();
    if (running != nullptr) {
      out.add({fmt::format("{}", id),
               name_for(from, *job),
               job->owner.user,
               name_of(job->spec.job_class),
               name_of(running->start.mechanism),
               fmt::format("{}", fmt::join(running->start.gpus, ","))},
              1);
    }
  }
}

// A value of 0 is one that is not known, or a cap that is not set.
void read_job_memory(const MetricSource& from, Samples& out) {
  for (const GpuView& gpu : from.scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      for (const auto& [kind, bytes] : {std::pair("used", resident.used_bytes),
                                        std::pair("reserved", resident.reserved_bytes),
                                        std::pair("cap", resident.cap_bytes)}) {
        if (bytes > 0 && has_series(from, resident.job)) {
          out.add({fmt::format("{}", resident.job), fmt::format("{}", gpu.index), kind}, bytes);
        }
      }
    }
  }
}

void read_job_sm_active(const MetricSource& from, Samples& out) {
  for (const GpuReading& reading : from.gpus) {
    for (const GpuReading::JobActivity& seen : reading.jobs) {
      if (has_series(from, seen.job)) {
        out.add({fmt::format("{}", seen.job), fmt::format("{}", reading.gpu)}, seen.sm_active);
      }
    }
  }
}

void read_job_energy(const MetricSource& from, Samples& out) {
  for (const JobId id : from.jobs) {
    if (const std::optional<double> joules = from.scheduler.energy_joules(id)) {
      out.add({fmt::format("{}", id)}, *joules);
    }
  }
}

void read_job_speed(const MetricSource& from, Samples& out) {
  for (const JobId id : from.jobs) {
    const JobRecord* job = from.scheduler.find(id);
    const JobAttempt* running = job == nullptr ? nullptr : job->running();
    if (running == nullptr) {
      continue;
    }
    for (const auto& [kind, ratio] : {std::pair("predicted", running->start.predicted_progress),
                                      std::pair("believed", running->progress)}) {
      if (ratio) {
        out.add({fmt::format("{}", id), kind}, *ratio);
      }
    }
  }
}

}  // namespace

std::vector<Metric> job_metrics() {
  return {
      {{"carpool_job_info",
        "gauge",
        {"job_id", "name", "user", "class", "share", "gpu"},
        "1 for each job on a GPU, to join with other metrics."},
       read_job_info},
      {{"carpool_job_memory_bytes",
        "gauge",
        {"job_id", "gpu", "kind"},
        "Memory of a job on a GPU: used, reserved, cap."},
       read_job_memory},
      {{"carpool_job_sm_active_ratio",
        "gauge",
        {"job_id", "gpu"},
        "Share of the time of the SMs that kernels of a job had."},
       read_job_sm_active},
      {{"carpool_job_energy_joules_total",
        "counter",
        {"job_id"},
        "Energy attributed to the running attempt of a job."},
       read_job_energy},
      {{"carpool_job_speed_ratio",
        "gauge",
        {"job_id", "kind"},
        "Speed of a running job as a share of its solo speed: predicted at its start, believed "
        "now."},
       read_job_speed},
      {{"carpool_jobs_without_series",
        "gauge",
        {},
        "Jobs on GPUs beyond the first 200, which have no series of their own."},
       [](const MetricSource& from, Samples& out) { out.add({}, from.jobs_left_out); }},
  };
}

}  // namespace carpool::serve
