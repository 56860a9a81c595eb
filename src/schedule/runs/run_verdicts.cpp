// What the end of an attempt means, seen beside the others on its GPU.
#include <algorithm>

#include "schedule/gpus/process_cap.hpp"
#include "schedule/recovery.hpp"
#include "schedule/runs/run_control.hpp"

namespace carpool::schedule {
namespace {

// Fragments, and what was taken since the last observation.
constexpr std::uint64_t kSpare = std::uint64_t{512} << 20U;

// The end says that the machine could start the attempt.
bool could_start(RunEnd end) {
  return end != RunEnd::Cancelled && end != RunEnd::Lost && end != RunEnd::MachineTrouble;
}

}  // namespace

// Before a request to stop changes how the attempt ended.
void RunControl::note_trouble(const JobRecord& job, const RunExit& exit, double at_s) {
  const JobStarted& start = job.attempts.back().start;
  const AttemptPlaces attempt{
      .run = {job.id, start.attempt}, .uid = job.owner.uid, .gpus = start.gpus};
  if (exit.end == RunEnd::MachineTrouble) {
    pauses_.failed(attempt, exit.scope.value_or(TroubleScope::Job), exit.detail, at_s);
  } else if (could_start(exit.end)) {
    pauses_.ended(attempt.run, at_s);
  } else {
    pauses_.given_up(attempt.run, at_s);
  }
}

// The cap of an attempt was the scheduler's choice: reaching it is not a failure of the job. The
// owner's own limit is not a cap. Even the largest cap leaves out what the driver and other
// contexts need: a job that reaches it may end well alone, without a cap.
void RunControl::judge_memory(const JobRecord& job, RunExit& exit, const WatchedRun& watched) {
  const JobStarted& start = job.running()->start;
  // The executor knows of a refusal by the library in front of the driver.
  const bool refused = exit.end == RunEnd::OverCap;
  if (refused) {
    exit.end = RunEnd::OutOfMemory;
  }
  if (exit.end != RunEnd::OutOfMemory || !start.cap_bytes) {
    return;
  }
  const std::uint64_t limit = process_cap(*start.cap_bytes, job.cap_processes());
  if (job.spec.mem_limit_bytes && *job.spec.mem_limit_bytes <= limit) {
    return;
  }
  if (!refused && !reached_limit(exit, limit, watched.peak_bytes) && !room_left(start, exit)) {
    ++full_gpu_ends_;
    return;
  }
  if (job.ends(RunEnd::OverCap) <= kMostOverCap) {
    exit.end = RunEnd::OverCap;
  }
}

// The GPU had memory for the allocation that failed: only the cap can have refused it.
bool RunControl::room_left(const JobStarted& start, const RunExit& exit) const {
  return std::ranges::all_of(start.gpus, [&](unsigned index) {
    const GpuView* gpu = occupancy_.find(index);
    return gpu != nullptr && gpu->used_bytes > 0 &&
           gpu->memory_bytes - std::min(gpu->memory_bytes, gpu->used_bytes) >=
               exit.wanted_bytes.value_or(kSpare) + kSpare;
  });
}

void RunControl::judge_fault(const JobRecord& job, RunExit& exit, double at_s) {
  const JobStarted& start = job.running()->start;
  if (exit.end != RunEnd::MpsFault || start.gpus.size() != 1) {
    return;
  }
  occupancy_.refresh(at_s);
  if (const GpuView* gpu = occupancy_.find(start.gpus.front())) {
    exit.culprit = faults_.suspects(job.id, *gpu, at_s) || exit.culprit;
  }
}

void RunControl::teach(const LiveJob& job, const RunExit& exit, const WatchedRun& watched) const {
  if (learner_ == nullptr) {
    return;
  }
  learner_->ended({.at_s = exit.at_s,
                   .workload = job.view.workload,
                   .end = exit.end,
                   .ran_s = job.record->running()->ran_s(exit.at_s),
                   .starting_s = watched.starting_s,
                   .progress = watched.progress,
                   .peak_bytes = watched.peak_bytes,
                   .processes = watched.processes});
}

}  // namespace carpool::schedule
