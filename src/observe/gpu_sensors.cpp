#include "observe/gpu_sensors.hpp"

#include <algorithm>
#include <utility>

namespace carpool::observe {
namespace {

// A hidden process is that of the job if one job is on the GPU, as with its memory.
std::optional<JobId> job_of(std::int64_t pid, unsigned gpu, const ProcessOwners& owners) {
  const ProcessOwner owner = owners.owner(pid);
  if (owner.kind == ProcessOwner::Kind::Job) {
    return owner.job;
  }
  const auto residents = owners.residents.find(gpu);
  const bool one = residents != owners.residents.end() && residents->second.size() == 1;
  return owner.kind == ProcessOwner::Kind::Unknown && one ? std::optional(residents->second.front())
                                                          : std::nullopt;
}

}  // namespace

GpuSensors::GpuSensors(TelemetrySource& source, std::vector<GpuInfo> gpus)
    : source_(source), gpus_(std::move(gpus)), readings_(gpus_.size()) {}

void GpuSensors::begin() {
  constexpr double kSlowEvery = 0.9;  // a look may come a little before its second
  slow_due_ = !since_slow_ || since_slow_->seconds() >= kSlowEvery;
  if (slow_due_) {
    since_slow_.emplace();
  }
}

void GpuSensors::add(std::size_t place,
                     const GpuSample& sample,
                     const std::optional<GpuActivity>& activity,
                     const ProcessOwners& owners) {
  std::optional<GpuReading>& kept = readings_[place];
  const bool first = !kept;
  if (first) {
    kept = GpuReading{.gpu = static_cast<unsigned>(place), .info = gpus_[place]};
  }
  kept->sample = sample;
  if (activity) {
    kept->activity = activity;
  }
  if (slow_due_ || first) {
    read_slow(*kept, owners);
  }
}

void GpuSensors::lose(std::size_t place) {
  readings_[place].reset();
}

// A sensor that fails is absent: whether the GPU can be used is decided elsewhere.
void GpuSensors::read_slow(GpuReading& reading, const ProcessOwners& owners) {
  const unsigned gpu = reading.info.index;
  reading.energy = source_.energy(gpu).value_or(std::nullopt);
  reading.health = source_.health(gpu).value_or(GpuHealth{});
  reading.jobs.clear();
  const auto processes = source_.process_activity(gpu).value_or(std::nullopt);
  reading.process_activity_told = processes.has_value();
  for (const ProcessActivity& process : processes.value_or(std::vector<ProcessActivity>())) {
    const std::optional<JobId> job = job_of(process.pid, reading.gpu, owners);
    if (!job) {
      continue;
    }
    const auto known = std::ranges::find(reading.jobs, *job, &GpuReading::JobActivity::job);
    if (known == reading.jobs.end()) {
      reading.jobs.push_back({.job = *job, .sm_active = process.sm_active});
    } else {
      known->sm_active = std::min(1.0, known->sm_active + process.sm_active);
    }
  }
}

std::vector<GpuReading> GpuSensors::latest() const {
  std::vector<GpuReading> readings;
  for (const std::optional<GpuReading>& reading : readings_) {
    if (reading) {
      readings.push_back(*reading);
    }
  }
  return readings;
}

}  // namespace carpool::observe
