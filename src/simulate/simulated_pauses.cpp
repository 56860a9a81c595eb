// Runs that stand still: pausing and resuming.
#include <utility>

#include "simulate/simulated_executor.hpp"

namespace carpool::simulate {

// Whatever is due stands still: the events are dropped, and what was left of each is kept.
void SimulatedExecutor::pause(RunId id) {
  catch_up();
  Running* run = find_run(id);
  if (run == nullptr || run->paused) {
    return;
  }
  settle(*run);
  run->paused = true;
  run->paused_at_s = now_s_;
  run->speed = 0.0;
  ++run->version;
  for (Due& due : run->due) {
    due.at_s -= now_s_;
  }
  if (options_.keep_runs) {
    ++history_[run->history].pauses;
  }
  regroup(run->gpus);
}

void SimulatedExecutor::resume(RunId id) {
  catch_up();
  Running* run = find_run(id);
  if (run == nullptr || !run->paused) {
    return;
  }
  run->paused = false;
  run->since_s = now_s_;
  if (options_.keep_runs) {
    history_[run->history].paused_s += now_s_ - run->paused_at_s;
  }
  for (const Due& due : std::exchange(run->due, {})) {
    schedule_due(due.at_s, due.step, by_job_.at(id.job));
  }
  regroup(run->gpus);
}

}  // namespace carpool::simulate
