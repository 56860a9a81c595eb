// The parts of a scheduler; only scheduler*.cpp include it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/backlog.hpp"
#include "schedule/event_log.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/gpus/lent_memory.hpp"
#include "schedule/gpus/occupancy.hpp"
#include "schedule/job_needs.hpp"
#include "schedule/job_table.hpp"
#include "schedule/planner.hpp"
#include "schedule/runs/run_control.hpp"
#include "schedule/runs/timers.hpp"
#include "schedule/runs/trouble_pauses.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

// Each part uses only those above it.
struct SchedulerParts {
  SchedulerParts(const SchedulerSettings& chosen,
                 std::vector<GpuView> gpus,
                 const PlacementPolicy& placement,
                 const InterferenceModel& model,
                 JobJournal& kept_in,
                 Executor& executor,
                 Learner* taught)
      : settings(chosen),
        interference(model),
        learner(taught),
        journal(kept_in),
        jobs(kept_in, chosen.keep_ended),
        occupancy(std::move(gpus), model, chosen.reservation),
        lent(chosen.lent_memory),
        needs(occupancy.largest_memory(), chosen.use_history),
        backlog(settings, needs),
        events({.jobs = jobs,
                .needs = needs,
                .backlog = backlog,
                .occupancy = occupancy,
                .usage = usage,
                .timers = timers},
               chosen.stop_grace_s),
        runs(settings, needs, jobs, occupancy, timers, pauses, events, executor, taught),
        planner(settings,
                placement,
                model,
                jobs,
                backlog,
                usage,
                occupancy,
                pauses,
                runs,
                taught != nullptr) {}

  // After an observation of this GPU.
  void watch_lent_memory(unsigned index, double now_s);
  void send_back_over_cap(const GpuView& gpu, double at_s);
  // After the journal was replayed.
  void restore_energy(const EnergyRecord& record);

  SchedulerSettings settings;
  const InterferenceModel& interference;
  Learner* learner;
  JobJournal& journal;
  std::function<void(const JobEvent&)> listener;
  JobTable jobs;
  std::map<RunId, std::string> escapes;  // from their cap
  Occupancy occupancy;
  FairUsage usage;
  Timers timers;
  TroublePauses pauses;
  LentMemory lent;
  JobNeeds needs;
  Backlog backlog;
  EventLog events;
  RunControl runs;
  Planner planner;
};

}  // namespace carpool::schedule
