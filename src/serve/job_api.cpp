#include "serve/job_api.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/text/strict_object.hpp"
#include "serve/ended_listing.hpp"
#include "serve/job_listing.hpp"
#include "serve/job_request.hpp"
#include "serve/job_view.hpp"
#include "serve/log_reader.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr double kMostWait = 60.0;

}  // namespace

Result<JobRecord> JobApi::own_job(schedule::Scheduler& scheduler,
                                  const Caller& caller,
                                  JobId job) const {
  Result<std::optional<JobRecord>> record = std::optional<JobRecord>();
  if (const JobRecord* known = scheduler.find(job); known != nullptr) {
    record = std::optional(*known);
  } else {
    record = parts_.journal.record_of(job);
  }
  if (!record) {
    return tl::unexpected(record.error());
  }
  if (!*record) {
    return not_found(fmt::format("there is no job {}", job));
  }
  if (!caller.may_touch((*record)->owner)) {
    return forbidden(fmt::format("job {} belongs to another user", job));
  }
  return std::move(**record);
}

ApiAnswer JobApi::submit(const Caller& caller, std::string_view body) {
  Result<std::vector<JobSpec>> specs = parse_job_request(body);
  if (!specs) {
    return error_answer(specs.error());
  }
  if (const auto allowed = check_user_limits(parts_.limits, caller, *specs); !allowed) {
    return error_answer(allowed.error());
  }
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        std::vector<JobId> ids;
        for (JobSpec& spec : *specs) {
          const Result<JobId> id =
              scheduler.submit(std::move(spec), {.uid = caller.uid, .user = caller.user}, now_s);
          if (!id) {
            // Either the whole array is accepted or none of it.
            for (const JobId sibling : ids) {
              static_cast<void>(scheduler.cancel(sibling, caller.user, now_s));
            }
            return tl::unexpected(id.error());
          }
          ids.push_back(*id);
        }
        return json{{"version", 1}, {"ids", ids}};
      }));
}

ApiAnswer JobApi::list(const Caller& caller, const ApiQuery& query) {
  const Result<ListQuery> wanted = read_list_query(query);
  if (!wanted) {
    return error_answer(wanted.error());
  }
  Result<std::string> text = parts_.loop.ask<std::string>(
      [&](schedule::Scheduler& scheduler, double now_s) -> Result<std::string> {
        return list_jobs(scheduler, *wanted, caller, now_s, shown());
      });
  return text ? ApiAnswer{.body = std::move(*text)} : error_answer(text.error());
}

Result<json> JobApi::details(const Caller& caller, JobId job) {
  return parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
    return own_job(scheduler, caller, job).map([&](const JobRecord& record) {
      return job_details(scheduler, record, caller, now_s, shown());
    });
  });
}

ApiAnswer JobApi::show(const Caller& caller, JobId job) {
  return json_answer(details(caller, job));
}

ApiAnswer JobApi::explain(const Caller& caller, JobId job) {
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double) -> Result<json> {
        const Result<JobRecord> record = own_job(scheduler, caller, job);
        if (!record) {
          return tl::unexpected(record.error());
        }
        return carpool::schedule::explain(scheduler, job)
            .map([&](const schedule::Explanation& explanation) {
              return explanation_view(explanation, *record);
            });
      }));
}

ApiAnswer JobApi::wait(const Caller& caller, JobId job, const ApiQuery& query) {
  const auto limit = number_of<double>(query, "wait_s");
  if (!limit) {
    return error_answer(limit.error());
  }
  const double wait_s = std::min(limit->value_or(kMostWait), kMostWait);
  const Stopwatch watch;
  std::int64_t seen = parts_.events.last();
  while (true) {
    Result<json> job_now = details(caller, job);
    const double left_s = wait_s - watch.seconds();
    if (!job_now || job_now->contains("ended_s") || left_s <= 0.0) {
      return json_answer(job_now);
    }
    const auto news = parts_.events.after(
        seen, caller, std::chrono::milliseconds(static_cast<std::int64_t>(left_s * 1000.0) + 1));
    if (!news) {
      return json_answer(job_now);  // the server is stopping
    }
  }
}

ApiAnswer JobApi::logs(const Caller& caller, JobId job, const ApiQuery& query) {
  const auto offset = number_of<std::uint64_t>(query, "offset");
  const auto limit = number_of<std::uint64_t>(query, "limit");
  const auto attempt = number_of<unsigned>(query, "attempt");
  const auto wait_s = number_of<double>(query, "wait_s");
  for (const Error* problem : {offset ? nullptr : &offset.error(),
                               limit ? nullptr : &limit.error(),
                               attempt ? nullptr : &attempt.error(),
                               wait_s ? nullptr : &wait_s.error()}) {
    if (problem != nullptr) {
      return error_answer(*problem);
    }
  }
  const std::string stream = text_of(query, "stream").value_or("stdout");
  if (stream != "stdout" && stream != "stderr") {
    return error_answer(
        invalid_input(fmt::format("stream: \"{}\" is neither stdout nor stderr", stream)));
  }
  const LogRequest wanted{.stream = stream == "stdout" ? LogStream::Out : LogStream::Err,
                          .attempt = attempt->value_or(0),
                          .offset = offset->value_or(0),
                          .most = limit->value_or(kUsualLogBytes),
                          .wait_s = std::min(wait_s->value_or(0.0), kMostWait)};
  const auto state = [&]() -> Result<LogState> {
    return parts_.loop.ask<LogState>([&](schedule::Scheduler& scheduler, double) {
      return own_job(scheduler, caller, job).map([](const JobRecord& record) {
        return LogState{.attempts = static_cast<unsigned>(record.attempts.size()),
                        .over = record.over()};
      });
    });
  };
  return read_log(job, wanted, parts_.log_file, state);
}

ApiAnswer JobApi::act(const Caller& caller, JobId job, const std::string& verb) {
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        const Result<JobRecord> record = own_job(scheduler, caller, job);
        if (!record) {
          return tl::unexpected(record.error());
        }
        const Result<void> done = verb == "cancel"    ? scheduler.cancel(job, caller.user, now_s)
                                  : verb == "hold"    ? scheduler.hold(job, now_s)
                                  : verb == "release" ? scheduler.release(job, now_s)
                                                      : scheduler.requeue(job, now_s);
        return done.map([&] { return json{{"id", job}, {"done", verb}}; });
      }));
}

ApiAnswer JobApi::gpus(const Caller& caller) {
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double) -> Result<json> {
        json gpus = json::array();
        for (const GpuView& gpu : scheduler.gpus()) {
          gpus.push_back(gpu_view(gpu, caller));
        }
        return json{{"version", 1}, {"gpus", std::move(gpus)}};
      }));
}

ApiAnswer JobApi::history(const Caller& caller, const ApiQuery& query) {
  const Result<store::EndedJobQuery> wanted = read_ended_query(query, caller);
  if (!wanted) {
    return error_answer(wanted.error());
  }
  return json_answer(parts_.loop.ask<json>([&](schedule::Scheduler&, double) -> Result<json> {
    return parts_.journal.ended_jobs(*wanted).map([&](const std::vector<store::EndedJob>& jobs) {
      return json{
          {"version", 1}, {"mode", parts_.mode}, {"jobs", list_ended_jobs(jobs, caller, shown())}};
    });
  }));
}

ApiAnswer JobApi::drain(const Caller& caller, std::string_view body) {
  if (!caller.operates) {
    return error_answer(forbidden("only operators may drain the server"));
  }
  const json object = json::parse(body, nullptr, /*allow_exceptions=*/false);
  StrictObject reader(object, "drain request");
  bool draining = false;
  reader.require("drain");
  reader.read("drain", draining);
  if (const Result<void> read = reader.finish(); !read) {
    return error_answer(read.error());
  }
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double) -> Result<json> {
        scheduler.set_draining(draining);
        return json{{"draining", draining}, {"running", count_jobs(scheduler).on_gpus}};
      }));
}

ApiAnswer JobApi::status() {
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double) -> Result<json> {
        return json{{"version", 1},
                    {"carpool", parts_.version},
                    {"mode", parts_.mode},
                    {"draining", scheduler.draining()},
                    {"jobs", count_jobs(scheduler).by_state},
                    {"gpu_count", scheduler.gpus().size()},
                    {"troubles", trouble_list(scheduler, shown())}};
      }));
}

ApiAnswer JobApi::metrics() {
  Result<std::string> page = parts_.loop.ask<std::string>(
      [&](schedule::Scheduler& scheduler, double) -> Result<std::string> {
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
