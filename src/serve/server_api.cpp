// The operations of the API that concern the server and not one job.
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/strict_object.hpp"
#include "serve/job_api.hpp"
#include "serve/job_listing.hpp"
#include "serve/job_request.hpp"
#include "serve/job_view.hpp"
#include "serve/scheduler_look.hpp"

namespace carpool::serve {

using nlohmann::json;

ApiAnswer JobApi::gpus(const Caller& caller) {
  return json_answer(
      look<json>(parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<json> {
        json gpus = json::array();
        for (const GpuView& gpu : scheduler.gpus()) {
          gpus.push_back(gpu_view(gpu, caller));
        }
        return json{{"version", 1}, {"gpus", std::move(gpus)}};
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

ApiAnswer JobApi::status() {
  return json_answer(
      look<json>(parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<json> {
        return json{{"version", 1},
                    {"carpool", parts_.version},
                    {"mode", parts_.mode},
                    {"draining", scheduler.draining()},
                    {"notice", scheduler.drain_words()},
                    {"jobs", count_jobs(scheduler).by_state},
                    {"gpu_count", scheduler.gpus().size()},
                    {"troubles", trouble_list(scheduler, shown())}};
      }));
}

ApiAnswer JobApi::metrics() {
  Result<std::string> page = look<std::string>(
      parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<std::string> {
        return parts_.metrics.text(scheduler, parts_.version);
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
