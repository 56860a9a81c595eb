#include "knowledge/run_learning.hpp"

#include <algorithm>

namespace carpool::knowledge {
namespace {

constexpr double kMostSeconds = 1e9;
constexpr unsigned kMostProcesses = 1024;
constexpr std::uint64_t kMostPeakBytes = std::uint64_t{1} << 50U;

bool plausible_time(double seconds) {
  return seconds > 0.0 && seconds < kMostSeconds;
}

// A mean of about the last ten.
void average(std::optional<double>& mean, double value, std::size_t count) {
  constexpr std::size_t kMemory = 10;
  const auto weight = static_cast<double>(std::clamp<std::size_t>(count, 1, kMemory));
  mean = mean ? *mean + (value - *mean) / weight : value;
}

}  // namespace

void learn_run(BeliefStore& store, const RunSeen& run) {
  const bool timed = run.end == RunEnd::Succeeded && plausible_time(run.ran_s) &&
                     run.progress > 0.0 && run.progress <= 1.0;
  const bool peaked = run.peak_bytes && *run.peak_bytes > 0 && *run.peak_bytes < kMostPeakBytes;
  const bool started = run.starting_s && plausible_time(*run.starting_s);
  if (!timed && !peaked && !started) {
    return;
  }
  store.set_now(run.at_s);
  WorkloadState& workload = store.workloads()[store.find_or_add(run.workload, run.at_s)];
  workload.seen_at_s = std::max(workload.seen_at_s, run.at_s);
  if (timed) {
    ++workload.runs;
    average(workload.runtime_s, run.ran_s * run.progress, workload.runs);
  }
  if (peaked) {
    workload.peak_bytes = std::max(workload.peak_bytes.value_or(0), *run.peak_bytes);
    workload.processes = std::clamp(run.processes, 1U, kMostProcesses);
  }
  if (started) {
    average(workload.startup_s, *run.starting_s, workload.runs);
  }
  store.make_room();
}

}  // namespace carpool::knowledge
