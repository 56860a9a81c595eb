#include "serve/job_api.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "core/submission/own_output.hpp"
#include "serve/ended_listing.hpp"
#include "serve/job_listing.hpp"
#include "serve/job_request.hpp"
#include "serve/job_view.hpp"
#include "serve/log_reader.hpp"
#include "serve/scheduler_look.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr double kMostWait = 60.0;
constexpr std::size_t kDetailsBytes = std::size_t{2} << 20U;  // of a job with a large environment
constexpr std::chrono::seconds kPatience{5};                  // for memory that others hold

// Keeps what the answer takes.
ApiAnswer held_answer(ApiAnswer answer, FairShare::Held held) {
  held.reduce_to(answer.body.size());
  answer.held = std::move(held);
  return answer;
}

}  // namespace

double JobApi::wall_clock_s() const {
  return shown()(parts_.loop.now_s());
}

std::optional<double> JobApi::scheduler_time(const std::optional<double>& wall_s) const {
  return wall_s ? std::optional(*wall_s - shown().shift_s) : std::nullopt;
}

ApiAnswer JobApi::memory_in_use() {
  return busy_answer("the server holds as much as it may for requests and answers");
}

FairShare::Held JobApi::hold_for_parsing(const Caller& caller, std::string_view body) {
  return parsing_.hold(caller.uid, body.size() * kParsedBytesPerByte, kPatience);
}

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

Result<std::vector<JobSpec>> JobApi::read_submission(const Caller& caller,
                                                     std::string_view body) const {
  return parse_job_request(body, wall_clock_s()).and_then([&](std::vector<JobSpec> specs) {
    for (JobSpec& spec : specs) {
      spec.begin_s = scheduler_time(spec.begin_s);
    }
    return check_user_limits(parts_.limits, caller, specs).map([&] { return std::move(specs); });
  });
}

ApiAnswer JobApi::submit(const Caller& caller, std::string_view body, const ApiQuery& query) {
  const FairShare::Held held = hold_for_parsing(caller, body);
  if (!held) {
    return memory_in_use();
  }
  Result<std::vector<JobSpec>> specs = read_submission(caller, body);
  if (!specs) {
    return error_answer(specs.error());
  }
  const bool hold = flag_of(query, "hold");
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        if (const Result<void> fits = queue_memory_.add(scheduler, caller.uid, *specs); !fits) {
          return tl::unexpected(fits.error());
        }
        std::vector<JobId> ids;
        for (JobSpec& spec : *specs) {
          if (!ids.empty()) {
            spec.array_job = ids.front();
          }
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
          if (hold) {
            // In the same transaction of the journal: no crash leaves a job that may start. A job
            // that can never start is closed already.
            static_cast<void>(scheduler.hold(*id, now_s));
          }
        }
        return json{{"version", 1}, {"ids", ids}};
      }));
}

ApiAnswer JobApi::list(const Caller& caller, const ApiQuery& query) {
  const Result<ListQuery> wanted = read_list_query(query);
  if (!wanted) {
    return error_answer(wanted.error());
  }
  FairShare::Held held = memory_.hold(caller.uid, kMostPageBytes, kPatience);
  if (!held) {
    return memory_in_use();
  }
  Result<std::string> text = look<std::string>(
      parts_.loop, [&](schedule::Scheduler& scheduler, double now_s) -> Result<std::string> {
        return wanted->array
                   ? list_array(scheduler, parts_.journal, *wanted, caller, now_s, shown())
                   : list_jobs(scheduler, *wanted, caller, now_s, shown());
      });
  return text ? held_answer({.body = std::move(*text)}, std::move(held))
              : error_answer(text.error());
}

ApiAnswer JobApi::show(const Caller& caller, JobId job) {
  FairShare::Held held = memory_.hold(caller.uid, kDetailsBytes, kPatience);
  if (!held) {
    return memory_in_use();
  }
  const auto details = [&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
    return own_job(scheduler, caller, job).map([&](const JobRecord& record) {
      json view = job_details(scheduler, record, caller, now_s, shown());
      const RunId last{.job = job, .attempt = static_cast<unsigned>(record.attempts.size())};
      if (parts_.log_file && last.attempt > 0) {
        const std::filesystem::path out = parts_.log_file(last, LogStream::Out);
        const std::filesystem::path err = parts_.log_file(last, LogStream::Err);
        view["stdout_file"] = out.string();
        view["stderr_file"] = err.string();
        if (is_cut(out) || is_cut(err)) {
          view["output_cut"] = true;
        }
      }
      if (!record.spec.output.empty()) {
        view["stdout_file"] = own_output(record.spec, job);
      }
      if (const std::string own = own_error(record.spec, job); !own.empty()) {
        view["stderr_file"] = own;
      }
      if (const auto gate = parts_.metrics.gate_of(job)) {
        view["gate"] = gate_view(*gate);
      }
      return view;
    });
  };
  return held_answer(json_answer(look<json>(parts_.loop, details)), std::move(held));
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
    const Result<LogState> now = state_of(caller, job);
    const double left_s = wait_s - watch.seconds();
    if (!now || now->over || left_s <= 0.0) {
      return now ? show(caller, job) : error_answer(now.error());
    }
    const auto news = parts_.events.after(
        seen, caller, std::chrono::milliseconds(static_cast<std::int64_t>(left_s * 1000.0) + 1));
    if (!news) {
      return show(caller, job);  // the server is stopping
    }
  }
}

ApiAnswer JobApi::logs(const Caller& caller, JobId job, const ApiQuery& query) {
  const auto offset = number_of<std::uint64_t>(query, "offset");
  const auto limit = number_of<std::uint64_t>(query, "limit");
  const auto attempt = number_of<unsigned>(query, "attempt");
  const auto wait_s = number_of<double>(query, "wait_s");
  const auto tail = number_of<std::uint64_t>(query, "tail");
  for (const Error* problem : {offset ? nullptr : &offset.error(),
                               limit ? nullptr : &limit.error(),
                               attempt ? nullptr : &attempt.error(),
                               wait_s ? nullptr : &wait_s.error(),
                               tail ? nullptr : &tail.error()}) {
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
                          .tail = *tail,
                          .wait_s = std::min(wait_s->value_or(0.0), kMostWait)};
  return read_log(
      job,
      wanted,
      {.log_file = parts_.log_file,
       .state = [&] { return state_of(caller, job); },
       .hold = [&](std::size_t bytes) { return memory_.hold(caller.uid, bytes, kPatience); },
       .pause = [&](std::chrono::milliseconds span) { return parts_.events.pause(span); }});
}

Result<LogState> JobApi::state_of(const Caller& caller, JobId job) {
  return look<LogState>(parts_.loop, [&](schedule::Scheduler& scheduler, double) {
    return own_job(scheduler, caller, job).map([](const JobRecord& record) {
      return LogState{.attempts = static_cast<unsigned>(record.attempts.size()),
                      .over = record.over()};
    });
  });
}

ApiAnswer JobApi::history(const Caller& caller, const ApiQuery& query) {
  const Result<store::EndedJobQuery> wanted = read_ended_query(query, caller);
  if (!wanted) {
    return error_answer(wanted.error());
  }
  FairShare::Held held = memory_.hold(caller.uid, 2 * kMostPageBytes, kPatience);
  if (!held) {
    return memory_in_use();
  }
  Result<std::string> jobs = look<std::string>(parts_.loop, [&](schedule::Scheduler&, double) {
    return list_ended_jobs(parts_.journal, *wanted, caller, shown());
  });
  if (!jobs) {
    return error_answer(jobs.error());
  }
  return held_answer(
      {.body =
           fmt::format(R"({{"jobs":{},"mode":{},"version":1}})", *jobs, json(parts_.mode).dump())},
      std::move(held));
}

}  // namespace carpool::serve
