#include "serve/job_view.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/job_names.hpp"
#include "core/workload_identity.hpp"
#include "schedule/advice/belief_words.hpp"
#include "schedule/gpus/process_cap.hpp"
#include "serve/job_reason.hpp"
#include "serve/json_line.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

template <class T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) {
    object[key] = *value;
  }
}

std::optional<double> shown_time(const std::optional<double>& at_s, const ShownTime& shown) {
  return at_s ? std::optional(shown(*at_s)) : std::nullopt;
}

json attempt_view(const JobAttempt& attempt, const ShownTime& shown) {
  json view = {{"attempt", attempt.start.attempt},
               {"gpus", attempt.start.gpus},
               {"mechanism", name_of(attempt.start.mechanism)},
               {"thread_limit_percent", attempt.start.thread_limit},
               {"reserved_bytes", attempt.start.reserved_bytes},
               {"reason", attempt.start.reason},
               {"started_s", shown(attempt.started_s)}};
  put(view, "cap_bytes", attempt.start.cap_bytes);
  if (attempt.start.cap_bytes && attempt.start.processes > 1) {
    view["cap_processes"] = attempt.start.processes;
    view["process_cap_bytes"] =
        schedule::process_cap(*attempt.start.cap_bytes, attempt.start.processes);
  }
  if (attempt.processes > 1) {
    view["processes"] = attempt.processes;
  }
  if (attempt.pauses > 0) {
    view["pauses"] = attempt.pauses;
    view["paused_s"] = attempt.paused_s;
  }
  if (attempt.pause) {
    view["paused_since_s"] = shown(attempt.pause_began_s);
    view["pause_cause"] = name_of(attempt.pause->cause);
    view["pause_reason"] = attempt.pause->reason;
  }
  put(view, "progress", attempt.progress);
  put(view, "predicted_progress", attempt.start.predicted_progress);
  put(view, "ended_s", shown_time(attempt.ended_s, shown));
  put(view, "peak_bytes", attempt.peak_bytes);
  put(view, "energy_j", attempt.energy_joules);
  if (attempt.ended_s) {
    view["end"] = name_of(attempt.exit.end);
    view["detail"] = attempt.exit.detail;
    put(view, "exit_code", attempt.exit.code);
    put(view, "signal", attempt.exit.signal);
    put(view, "wanted_bytes", attempt.exit.wanted_bytes);
    put(view, "held_bytes", attempt.exit.held_bytes);
    if (attempt.exit.scope) {
      view["scope"] = name_of(*attempt.exit.scope);
    }
  }
  return view;
}

// Run time so far of the running attempt, or of the last one; without pauses.
double run_seconds(const JobRecord& job, double now_s) {
  if (job.attempts.empty()) {
    return 0.0;
  }
  const JobAttempt& last = job.attempts.back();
  return last.ran_s(now_s);
}

const Resident* resident_of(const schedule::Scheduler& scheduler, JobId job) {
  for (const GpuView& gpu : scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      if (resident.job == job) {
        return &resident;
      }
    }
  }
  return nullptr;
}

}  // namespace

const std::string& shown_name(const JobRecord& job) {
  return job.spec.name.empty() && !job.spec.argv.empty() ? job.spec.argv.front() : job.spec.name;
}

void add_job_summary(std::string& out,
                     const schedule::Scheduler& scheduler,
                     const JobRecord& job,
                     const Caller& caller,
                     double now_s,
                     const ShownTime& shown) {
  JsonLine line(out);
  line.add("id", job.id);
  line.add("user", job.owner.user);
  line.add("state", name_of(job.state));
  line.add("code", job.code());
  line.add("submitted_s", shown(job.submitted_s));
  line.add("run_s", run_seconds(job, now_s));
  line.add("priority", job.spec.priority);
  line.add("class", name_of(job.spec.job_class));
  line.add("gpu_count", job.spec.gpus);
  line.add("mem_bytes", job.reserve_bytes ? job.reserve_bytes : job.spec.mem_bytes);
  line.add("ended_s", shown_time(job.ended_s, shown));
  if (const JobAttempt* running = job.running(); running != nullptr) {
    line.add("gpus", running->start.gpus);
    line.add("mechanism", name_of(running->start.mechanism));
    line.add("thread_limit_percent", running->start.thread_limit);
    line.add("predicted_progress", running->start.predicted_progress);
    if (running->pause) {
      line.add("paused_since_s", shown(running->pause_began_s));
      line.add("pause_cause", name_of(running->pause->cause));
    }
    if (const Resident* resident = resident_of(scheduler, job.id); resident != nullptr) {
      line.add("used_bytes", resident->used_bytes);
      line.add("reserved_bytes", resident->reserved_bytes);
    }
  }
  if (caller.may_touch(job.owner)) {
    line.add("name", shown_name(job));
    const JobReason why = reason_of(scheduler, job);
    if (!why.sentence.empty()) {
      line.add("reason", why.sentence);
    }
    if (!why.word.empty()) {
      line.add("reason_word", why.word);
    }
    line.add("array_index", job.spec.array_index);
    line.add("array_job", job.array_job());
  }
  line.close();
}

json job_details(const schedule::Scheduler& scheduler,
                 const JobRecord& job,
                 const Caller& caller,
                 double now_s,
                 const ShownTime& shown) {
  std::string summary;
  add_job_summary(summary, scheduler, job, caller, now_s, shown);
  json view = json::parse(summary);
  if (!caller.may_touch(job.owner)) {
    return view;
  }
  const JobSpec& spec = job.spec;
  view["argv"] = spec.argv;
  view["cwd"] = spec.cwd;
  view["env"] = spec.env.map();
  view["exclusive"] = job.exclusive;
  view["after"] = spec.after;
  view["after_any"] = spec.after_any;
  view["after_not_ok"] = spec.after_not_ok;
  view["retries"] = spec.retries;
  view["workload"] = workload_key(spec);
  if (const auto queued = scheduler.last_view(job.id)) {
    view["activity"] = schedule::activity_words(scheduler.interference(), queued->workload);
  }
  if (const std::string escape = scheduler.cap_escape(job.id); !escape.empty()) {
    view["cap_escape"] = escape;
  }
  view["mem_auto"] = spec.mem_auto;
  view["out_of_memory_count"] = job.out_of_memory;
  view["queued_s"] = shown(job.queued_s);
  if (!spec.params.empty()) {
    view["params"] = spec.params;
  }
  if (!spec.notify.empty()) {
    view["notify"] = spec.notify;
  }
  if (!spec.progress.empty()) {
    view["progress"] = spec.progress;
  }
  put(view, "asked_mem_bytes", spec.mem_bytes);
  put(view, "mem_limit_bytes", spec.mem_limit_bytes);
  put(view, "time_s", spec.time_s);
  put(view, "runtime_s", spec.runtime_s);
  put(view, "begin_s", shown_time(spec.begin_s, shown));
  put(view, "array_limit", spec.array_limit);
  if (!spec.gpu_filter.takes_all()) {
    view["gpu_filter"] = {{"gpu", spec.gpu_filter.indices},
                          {"gpu_type", spec.gpu_filter.type},
                          {"text", filter_words(spec.gpu_filter)}};
  }
  put(view, "slo_ms", spec.slo_ms);
  put(view, "quantile", spec.quantile);
  if (job.end) {
    view["end"] = name_of(*job.end);
  }
  view["attempts"] = json::array();
  for (const JobAttempt& attempt : job.attempts) {
    view["attempts"].push_back(attempt_view(attempt, shown));
  }
  // The exit code as a shell would report it.
  if (job.over() && !job.attempts.empty()) {
    put(view, "exit_code", job.attempts.back().exit.code);
    put(view, "signal", job.attempts.back().exit.signal);
  }
  return view;
}

json gpu_view(const GpuView& gpu, const Caller& caller) {
  json view = {{"index", gpu.index},
               {"uuid", gpu.uuid},
               {"name", gpu.name},
               {"memory_bytes", gpu.memory_bytes},
               {"used_bytes", gpu.used_bytes},
               {"free_bytes", gpu.free_bytes()},
               {"foreign", gpu.foreign},
               {"foreign_bytes", gpu.foreign_bytes},
               {"mps_possible", gpu.mps_possible}};
  if (!gpu.unusable.empty()) {
    view["unusable"] = gpu.unusable;
  }
  if (gpu.pressure) {
    view["sm_active_ratio"] = gpu.pressure->sm_active;
    view["sm_occupancy_ratio"] = gpu.pressure->sm_occupancy;
    view["dram_active_ratio"] = gpu.pressure->dram_active;
  }
  view["jobs"] = json::array();
  for (const Resident& resident : gpu.residents) {
    json job = {{"id", resident.job},
                {"user", user_name(resident.uid)},
                {"mechanism", name_of(resident.mechanism)},
                {"thread_limit_percent", resident.thread_limit},
                {"reserved_bytes", resident.reserved_bytes},
                {"used_bytes", resident.used_bytes},
                {"paused", resident.phase == ResidentPhase::Paused}};
    put(job, "sm_active_ratio", resident.sm_active);
    if (caller.operates || resident.uid == caller.uid) {
      job["workload"] = workload_name(resident.workload);
    }
    view["jobs"].push_back(job);
  }
  return view;
}

json trouble_list(const schedule::Scheduler& scheduler, const ShownTime& shown) {
  json list = json::array();
  for (const auto& [place, trouble] : scheduler.troubles()) {
    json view = {{"scope", name_of(place.scope)},
                 {"attempts", trouble.attempts},
                 {"since_s", shown(trouble.since_s)},
                 {"next_try_s", std::max(trouble.until_s - scheduler.now_s(), 0.0)}};
    if (place.scope == TroubleScope::Gpus) {
      view["gpu"] = place.which;
    }
    if (place.scope == TroubleScope::Gpus || place.scope == TroubleScope::Machine) {
      view["reason"] = trouble.why;
    }
    list.push_back(std::move(view));
  }
  return list;
}

}  // namespace carpool::serve
