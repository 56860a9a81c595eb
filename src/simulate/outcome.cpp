#include "simulate/outcome.hpp"

#include <algorithm>
#include <numeric>

#include "base/statistics.hpp"

namespace carpool::simulate {
namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

}  // namespace

SimulationResult summarise(const Trace& trace,
                           const ClusterSpec& cluster,
                           const SimulatedExecutor& executor) {
  SimulationResult result;
  result.jobs.resize(trace.jobs.size());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    result.jobs[i].submitted_s = trace.jobs[i].submit_s;
  }
  std::vector<double> failed_s(trace.jobs.size(), -1.0);
  double last = 0.0;
  for (const SimulatedRun& run : executor.runs()) {
    JobOutcome& job = result.jobs[run.job];
    ++job.attempts;
    job.started_s = run.started_s;
    job.ended_s = run.ended_s;
    job.executed_s += run.ended_s - run.started_s;
    job.succeeded = run.end == RunEnd::Succeeded;
    if (failed_s[run.job] >= 0.0) {
      result.recovery_waits_s.push_back(run.started_s - failed_s[run.job]);
      failed_s[run.job] = -1.0;
    }
    if (run.end == RunEnd::OutOfMemory) {
      ++result.out_of_memory;
      result.lost_s += run.ended_s - run.started_s;
      failed_s[run.job] = run.ended_s;
    }
    last = std::max(last, run.ended_s);
  }
  std::vector<double> waits;
  std::vector<double> times;
  std::vector<double> executions;
  std::vector<double> inflations;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobOutcome& job = result.jobs[i];
    result.failed_jobs += job.succeeded ? 0 : 1;
    waits.push_back(job.started_s - job.submitted_s);
    times.push_back(job.ended_s - job.submitted_s);
    executions.push_back(job.executed_s);
    inflations.push_back(job.executed_s / trace.jobs[i].solo_s);
  }
  result.makespan_s = last - trace.jobs.front().submit_s;
  result.mean_wait_s = mean(waits);
  result.mean_jct_s = mean(times);
  constexpr double kHigh = 0.95;
  result.p95_jct_s = quantile(times, kHigh);
  result.mean_execution_s = mean(executions);
  result.inflation = mean(inflations);
  constexpr double kMega = 1e6;
  result.energy_mj = executor.energy_joules() / kMega;
  result.mean_sm_active =
      last > 0.0 ? executor.busy_gpu_seconds() / (last * static_cast<double>(cluster.gpus)) : 0.0;
  result.runs.assign(executor.runs().begin(), executor.runs().end());
  result.moments.assign(executor.moments().begin(), executor.moments().end());
  return result;
}

}  // namespace carpool::simulate
