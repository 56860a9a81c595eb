// The operations of the API that concern the server and not one job.
#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/strict_object.hpp"
#include "serve/job_api.hpp"
#include "serve/job_listing.hpp"
#include "serve/job_request.hpp"
#include "serve/job_view.hpp"
#include "serve/scheduler_look.hpp"

namespace carpool::serve {

using nlohmann::json;

namespace {

// Name, run time, latency and processes of the jobs on a GPU.
void add_job_facts(json& jobs,
                   const schedule::Scheduler& scheduler,
                   const std::vector<JobPids>& pids,
                   const Metrics& metrics,
                   const Caller& caller,
                   double now_s) {
  for (json& view : jobs) {
    const JobRecord* job = scheduler.find(view.at("id").get<JobId>());
    if (job == nullptr) {
      continue;
    }
    if (const JobAttempt* running = job->running(); running != nullptr) {
      view["run_s"] = running->ran_s(now_s);
    }
    if (caller.may_touch(job->owner)) {
      view["name"] = shown_name(*job);
      if (const auto gate = metrics.gate_of(job->id); gate && gate->slo_ms) {
        view["gate"] = gate_view(*gate);
      }
    }
    if (const auto known = std::ranges::find(pids, job->id, &JobPids::job); known != pids.end()) {
      view["supervisor_pid"] = known->supervisor;
      view["session"] = known->session;
    }
  }
}

bool slo_in_mps(const GpuView& gpu) {
  return gpu.shares_by_mps(JobClass::Slo);
}

}  // namespace

ApiAnswer JobApi::gpus(const Caller& caller) {
  return json_answer(
      look<json>(parts_.loop, [&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        const std::vector<JobPids> pids = parts_.pids ? parts_.pids() : std::vector<JobPids>();
        json gpus = json::array();
        for (const GpuView& gpu : scheduler.gpus()) {
          gpus.push_back(gpu_view(gpu, caller));
          add_job_facts(gpus.back().at("jobs"), scheduler, pids, parts_.metrics, caller, now_s);
        }
        return json{{"version", 1}, {"mode", parts_.mode}, {"gpus", std::move(gpus)}};
      }));
}

// What another user's jobs do is theirs: only operators see all.
ApiAnswer JobApi::knowledge(const Caller& caller, const ApiQuery& query) {
  const bool all = caller.operates && flag_of(query, "all");
  return json_answer(look<json>(parts_.loop, [&](schedule::Scheduler&, double) -> Result<json> {
    return parts_.knowledge ? parts_.knowledge(all ? std::nullopt : std::optional(caller.uid))
                            : json{{"version", 1}, {"workloads", json::array()}};
  }));
}

ApiAnswer JobApi::drain(const Caller& caller, std::string_view body) {
  if (!caller.operates) {
    return error_answer(forbidden("only operators may drain the server"));
  }
  const json object =
      is_small_json(body) ? json::parse(body, nullptr, /*allow_exceptions=*/false) : json();
  StrictObject reader(object, "drain request");
  bool draining = false;
  reader.require("drain");
  reader.read("drain", draining);
  if (const Result<void> read = reader.finish(); !read) {
    return error_answer(read.error());
  }
  return json_answer(parts_.loop.ask<json>([&](schedule::Scheduler& scheduler,
                                               double) -> Result<json> {
    if (draining != scheduler.draining()) {  // `carpool drain --wait` asks repeatedly
      const auto by = draining ? std::optional(caller.user) : std::nullopt;
      const Result<std::string> since = parts_.keep_drain ? parts_.keep_drain(by) : std::string();
      if (!since) {
        return tl::unexpected(since.error());
      }
      scheduler.set_draining(draining, *since);
    }
    return json{{"draining", draining}, {"running", count_jobs(scheduler).on_gpus}};
  }));
}

Result<PruneReport> JobApi::prune_outputs(PruneRequest wanted) {
  if (!parts_.prune) {
    return PruneReport{};
  }
  const Result<void> seen =
      look<bool>(parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<bool> {
        for (const JobId id : scheduler.jobs()) {
          if (const JobRecord* job = scheduler.find(id); job != nullptr && !job->over()) {
            wanted.not_ended.insert(id);
          }
        }
        return parts_.journal.last_job().map([&](JobId last) {
          wanted.last_job = last;
          return true;
        });
      }).map([](bool) {});
  // Not on the loop's thread: removing many files takes long.
  return seen.map([&] { return parts_.prune(wanted); });
}

ApiAnswer JobApi::prune(const Caller& caller, std::string_view body) {
  const json object =
      is_small_json(body) ? json::parse(body, nullptr, /*allow_exceptions=*/false) : json();
  PruneRequest wanted;
  StrictObject reader(object, "prune request");
  reader.read("older_than_s", wanted.older_than_s);
  reader.read("keep_bytes", wanted.keep_bytes);
  reader.read("dry_run", wanted.dry_run);
  if (const Result<void> read = reader.finish(); !read) {
    return error_answer(read.error());
  }
  if (!wanted.older_than_s && !wanted.keep_bytes) {
    return error_answer(invalid_input("prune request: needs older_than_s or keep_bytes"));
  }
  if (!caller.operates) {
    wanted.uid = caller.uid;
  }
  return json_answer(prune_outputs(wanted).map([&](const PruneReport& report) {
    constexpr std::size_t kMostNamed = 1000;
    json removed = json::array();
    for (const RunId& run : report.removed) {
      if (removed.size() < kMostNamed) {
        removed.push_back({{"id", run.job}, {"attempt", run.attempt}});
      }
    }
    return json{{"dry_run", wanted.dry_run},
                {"attempts", report.removed.size()},
                {"bytes", report.bytes},
                {"kept_bytes", report.kept_bytes},
                {"removed", std::move(removed)}};
  }));
}

ApiAnswer JobApi::status() {
  return json_answer(
      look<json>(parts_.loop, [&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        return json{{"version", 1},
                    {"carpool", parts_.version},
                    {"mode", parts_.mode},
                    {"policy", parts_.policy},
                    {"library", parts_.library},
                    {"slo_in_mps", std::ranges::all_of(scheduler.gpus(), slo_in_mps)},
                    {"started_s", shown()(parts_.started_s)},
                    {"now_s", shown()(now_s)},
                    {"draining", scheduler.draining()},
                    {"notice", scheduler.why_no_starts()},
                    {"jobs", count_jobs(scheduler).by_state},
                    {"gpu_count", scheduler.gpus().size()},
                    {"troubles", trouble_list(scheduler, shown())}};
      }));
}

ApiAnswer JobApi::metrics(const Caller& caller) {
  Result<std::string> page = look<std::string>(
      parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<std::string> {
        return parts_.metrics.text(scheduler, parts_.version, caller);
      });
  if (!page) {
    return error_answer(page.error());
  }
  return {.body = std::move(*page), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

ApiAnswer JobApi::healthy() {
  const Result<void> alive = parts_.loop.perform([](schedule::Scheduler&, double) {});
  return alive ? ApiAnswer{.body = "ok\n", .type = "text/plain"} : error_answer(alive.error());
}

}  // namespace carpool::serve
