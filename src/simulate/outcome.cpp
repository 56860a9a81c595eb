#include "simulate/outcome.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/statistics.hpp"

namespace carpool::simulate {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool has_enough_gpus(const TraceJob& job, const ClusterSpec& cluster) {
  return job.gpus <= cluster.gpus;
}

// Counts an attempt, in the order of their starts.
void add_run(const SimulatedRun& run, JobOutcome& job, double& failed_s, SimulationResult& result) {
  job.ends.push_back(run.end);
  job.started_s = run.started_s;
  job.ended_s = run.ended_s;
  job.executed_s += run.ended_s - run.started_s;
  job.succeeded = run.end == RunEnd::Succeeded;
  result.pauses += run.pauses;
  result.paused_s += run.paused_s;
  if (failed_s >= 0.0) {
    result.recovery_waits_s.push_back(run.started_s - failed_s);
    failed_s = -1.0;
  }
  if (run.end == RunEnd::OutOfMemory || run.end == RunEnd::OverCap) {
    ++(run.end == RunEnd::OutOfMemory ? result.out_of_memory : result.over_cap);
    result.lost_s += run.ended_s - run.started_s;
    failed_s = run.ended_s;
  }
}

void average(const Trace& trace, SimulationResult& result) {
  std::vector<double> waits;
  std::vector<double> times;
  std::vector<double> executions;
  std::vector<double> inflations;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobOutcome& job = result.jobs[i];
    if (!job.succeeded) {
      ++result.failed_jobs;
      continue;
    }
    waits.push_back(job.started_s - job.submitted_s);
    times.push_back(job.ended_s - job.submitted_s);
    executions.push_back(job.executed_s);
    inflations.push_back(job.executed_s / trace.jobs[i].solo_s);
  }
  if (times.empty()) {
    return;
  }
  result.mean_wait_s = mean(waits);
  result.mean_jct_s = mean(times);
  constexpr double kHigh = 0.95;
  result.p95_jct_s = quantile(times, kHigh);
  result.mean_execution_s = mean(executions);
  result.inflation = mean(inflations);
}

}  // namespace

Trace with_enough_gpus(const Trace& trace, const ClusterSpec& cluster) {
  Trace possible{.name = trace.name};
  std::ranges::copy_if(trace.jobs, std::back_inserter(possible.jobs), [&](const TraceJob& job) {
    return has_enough_gpus(job, cluster);
  });
  return possible;
}

SimulationResult summarise(const Trace& trace,
                           const ClusterSpec& cluster,
                           const SimulatedExecutor& executor) {
  SimulationResult result;
  std::vector<std::size_t> submitted;  // of the trace's jobs
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    result.jobs.push_back(
        {.workload = job.workload, .gpus = job.gpus, .submitted_s = job.submit_s});
    if (has_enough_gpus(job, cluster)) {
      submitted.push_back(i);
    }
  }
  std::vector<double> failed_s(submitted.size(), -1.0);
  const double first = trace.jobs.front().submit_s;
  double last = first;
  for (const SimulatedRun& run : executor.runs()) {
    const std::size_t index = submitted[run.job];
    add_run(run, result.jobs[index], failed_s[run.job], result);
    result.runs.push_back(run);
    result.runs.back().job = index;
    last = std::max(last, run.ended_s);
  }
  average(trace, result);
  // A trace may begin at any time: nothing counts before its first submission.
  result.makespan_s = last - first;
  constexpr double kMega = 1e6;
  result.energy_mj = executor.energy_joules_since(first) / kMega;
  result.mean_sm_active =
      result.makespan_s > 0.0
          ? executor.busy_gpu_seconds() / (result.makespan_s * static_cast<double>(cluster.gpus))
          : 0.0;
  result.moments.assign(executor.moments().begin(), executor.moments().end());
  return result;
}

}  // namespace carpool::simulate
