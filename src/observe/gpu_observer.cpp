#include "observe/gpu_observer.hpp"

#include <algorithm>
#include <utility>

namespace carpool::observe {
namespace {

void add_memory(GpuObservation& seen, JobId job, std::uint64_t bytes, unsigned processes = 1) {
  const auto known = std::ranges::find(seen.jobs, job, &GpuObservation::JobSeen::job);
  if (known != seen.jobs.end()) {
    known->bytes += bytes;
    known->processes += processes;
  } else {
    seen.jobs.push_back({.job = job, .bytes = bytes, .processes = processes});
  }
}

// Which of the jobs they belong to is not known, nor what each job holds. As many jobs that were
// not seen as there are hidden processes are reported as there, in the order of their start.
void add_hidden(GpuObservation& seen, const std::vector<JobId>& residents, unsigned processes) {
  for (const JobId job : residents) {
    const bool known =
        std::ranges::find(seen.jobs, job, &GpuObservation::JobSeen::job) != seen.jobs.end();
    if (!known && processes > 0) {
      --processes;
      seen.jobs.push_back({.job = job, .bytes = 0, .processes = 0});
    }
  }
}

// Where SM counters are not available, the coarse utilisation is used.
GpuPressure pressure_of(const GpuActivity& activity, const GpuSample& sample) {
  return {.sm_active = activity.sm_active.value_or(
              activity.graphics_active.value_or(sample.gpu_utilisation.value_or(0.0))),
          .sm_occupancy = activity.sm_occupancy.value_or(0.0),
          .dram_active = activity.dram_active.value_or(sample.memory_utilisation.value_or(0.0))};
}

}  // namespace

GpuObserver::GpuObserver(TelemetrySource& source,
                         std::vector<GpuInfo> gpus,
                         const ObserverSettings& settings)
    : source_(source),
      gpus_(std::move(gpus)),
      windows_(gpus_.size(), SampleWindow(settings.window_samples, settings.summary)),
      sensors_(source_, gpus_) {
  for (const GpuInfo& gpu : gpus_) {
    // A GPU that fails here fails again, with its reason, when it is read.
    static_cast<void>(source_.begin_activity(gpu.index));
  }
}

std::vector<GpuObservation> GpuObserver::read(const ProcessOwners& owners) {
  std::vector<GpuObservation> seen;
  seen.reserve(gpus_.size());
  processes_.assign(gpus_.size(), std::nullopt);
  sensors_.begin();
  for (std::size_t place = 0; place < gpus_.size(); ++place) {
    seen.push_back(read_one(place, owners));
  }
  return seen;
}

GpuObservation GpuObserver::read_one(std::size_t place, const ProcessOwners& owners) {
  const unsigned gpu = gpus_[place].index;
  GpuObservation seen{.gpu = static_cast<unsigned>(place)};
  const Result<GpuSample> sample = source_.sample(gpu);
  if (!sample) {
    seen.unusable = sample.error().message;
    sensors_.lose(place);
    return seen;
  }
  seen.used_bytes = sample->memory_used_bytes;
  const auto activity = source_.activity(gpu).value_or(std::nullopt);
  if (activity) {
    seen.latest = pressure_of(*activity, *sample);
    windows_[place].add(*seen.latest, activity->span_seconds);
  }
  sensors_.add(place, *sample, activity, owners);
  seen.pressure = windows_[place].pressure();
  if (const Result<void> read = add_processes(place, owners, seen); !read) {
    seen.unusable = read.error().message;
  }
  add_sensors(place, seen);
  return seen;
}

// A job that the driver does not report did not compute, if the driver reports the activity of its
// processes at all: some do not tell clients of MPS apart.
void GpuObserver::add_sensors(std::size_t place, GpuObservation& seen) const {
  const GpuReading* reading = sensors_.at(place);
  if (reading == nullptr) {
    return;
  }
  if (reading->energy) {
    seen.energy_joules = reading->energy->joules;
  }
  for (GpuObservation::JobSeen& job : seen.jobs) {
    const auto active = std::ranges::find(reading->jobs, job.job, &GpuReading::JobActivity::job);
    if (active != reading->jobs.end()) {
      job.sm_active = active->sm_active;
    } else if (reading->process_activity_told && job.processes > 0 &&
               !mps_jobs_.contains(job.job)) {
      job.sm_active = 0.0;
    }
  }
}

Result<void> GpuObserver::add_processes(std::size_t place,
                                        const ProcessOwners& owners,
                                        GpuObservation& seen) {
  const auto processes = source_.processes(gpus_[place].index);
  if (!processes) {
    return tl::unexpected(processes.error());
  }
  std::uint64_t hidden_bytes = 0;
  unsigned hidden = 0;
  bool hidden_mps = false;
  mps_jobs_.clear();
  auto& kept = processes_[place].emplace();
  for (const GpuProcess& process : *processes) {
    const std::uint64_t bytes = process.memory_bytes.value_or(0);
    const ProcessOwner owner = owners.owner(process.pid);
    kept.push_back({process, owner});
    switch (owner.kind) {
      case ProcessOwner::Kind::Job:
        add_memory(seen, owner.job, bytes);
        if (process.mps_client) {
          mps_jobs_.insert(owner.job);
        }
        break;
      case ProcessOwner::Kind::Foreign:
        seen.foreign = true;
        seen.foreign_bytes += bytes;
        break;
      case ProcessOwner::Kind::Unknown:
        ++hidden;
        hidden_mps = hidden_mps || process.mps_client;
        hidden_bytes += bytes;
        break;
      case ProcessOwner::Kind::MpsServer:
        break;
    }
  }
  // Hidden processes are foreign, or those of a job if a job runs on this GPU: in a container, the
  // driver reports PIDs of another namespace.
  const auto residents = owners.residents.find(static_cast<unsigned>(place));
  if (hidden == 0) {
    return {};
  }
  if (residents == owners.residents.end() || residents->second.empty()) {
    seen.foreign = true;
    seen.foreign_bytes += hidden_bytes;
  } else if (residents->second.size() == 1) {
    add_memory(seen, residents->second.front(), hidden_bytes, hidden);
    if (hidden_mps) {
      mps_jobs_.insert(residents->second.front());
    }
  } else {
    add_hidden(seen, residents->second, hidden);
  }
  return {};
}

}  // namespace carpool::observe
