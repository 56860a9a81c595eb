#include "app/server/pretend_executor.hpp"

#include <algorithm>

#include "core/job_history.hpp"

namespace carpool::app {
namespace {

std::uint64_t memory_of(const LaunchSpec& spec) {
  return spec.job.mem_bytes.value_or(kPretendBytes);
}

bool is_on(const LaunchSpec& spec, unsigned gpu) {
  return std::ranges::find(spec.gpu_indices, gpu) != spec.gpu_indices.end();
}

}  // namespace

// The slowest of its GPUs sets the pace.
double PretendExecutor::speed_of(const Pretended& job) const {
  double speed = 1.0;
  for (const unsigned gpu : job.spec.gpu_indices) {
    std::vector<InterferenceMember> group = {{workload_key(job.spec.job), job.spec.thread_limit}};
    for (const auto& [run, other] : running_) {
      if (run != job.spec.run && is_on(other.spec, gpu)) {
        group.push_back({workload_key(other.spec.job), other.spec.thread_limit});
      }
    }
    speed = std::min(speed, interference_.progress(group).front());
  }
  return speed;
}

// By the speeds that hold since the last look; looks are closer together than people notice.
void PretendExecutor::advance() {
  const double now = now_s_();
  const double span = now - advanced_s_;
  for (auto& [run, job] : running_) {
    job.left_s -= span * speed_of(job);
  }
  advanced_s_ = now;
}

Result<void> PretendExecutor::launch(const LaunchSpec& spec) {
  advance();
  running_[spec.run] = {.spec = spec, .left_s = spec.job.runtime_s.value_or(kPretendSeconds)};
  return {};
}

void PretendExecutor::stop(RunId run, StopMode /*mode*/) {
  if (const auto found = running_.find(run); found != running_.end()) {
    found->second.stopped = true;
  }
}

std::vector<RunReport> PretendExecutor::take_reports() {
  advance();
  std::vector<RunReport> reports;
  for (auto entry = running_.begin(); entry != running_.end();) {
    const auto& [run, job] = *entry;
    if (!job.stopped && job.left_s > 0.0) {
      ++entry;
      continue;
    }
    RunExit exit{.end = job.stopped ? RunEnd::Cancelled : RunEnd::Succeeded, .at_s = advanced_s_};
    if (!job.stopped) {
      exit.code = 0;
    }
    reports.push_back({RunReport::Kind::Ended, run, exit});
    entry = running_.erase(entry);
  }
  return reports;
}

Result<FoundRun> PretendExecutor::find(const LaunchSpec& /*spec*/) {
  return FoundRun{.state = FoundRun::State::NeverBegan};
}

std::vector<GpuObservation> PretendExecutor::observe() const {
  std::vector<GpuObservation> seen;
  for (unsigned gpu = 0; gpu < gpus_; ++gpu) {
    GpuObservation observation{.gpu = gpu, .pressure = GpuPressure{}};
    for (const auto& [run, job] : running_) {
      if (!is_on(job.spec, gpu)) {
        continue;
      }
      const std::uint64_t bytes = memory_of(job.spec);
      observation.jobs.push_back({run.job, bytes});
      observation.used_bytes += bytes;
      observation.pressure->sm_active +=
          speed_of(job) * interference_.sm_active(workload_key(job.spec.job)).value_or(0.5);
    }
    observation.pressure->sm_active = std::min(1.0, observation.pressure->sm_active);
    seen.push_back(std::move(observation));
  }
  return seen;
}

}  // namespace carpool::app
