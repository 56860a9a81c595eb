// The operations of the API that change a job.
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/latency_words.hpp"
#include "serve/job_api.hpp"
#include "serve/job_request.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

// What a change of the class does beside it. An SLO is stated at submission only.
std::string class_remark(const JobSpec& before, const JobUpdated& change) {
  if (!change.job_class) {
    return {};
  }
  if (*change.job_class != JobClass::Slo) {
    return before.slo_ms ? fmt::format("its SLO of {} is dropped", ms_words(*before.slo_ms))
                         : std::string();
  }
  return before.slo_ms ? std::string()
                       : "it states no latency, which only a submission does: jobs of class "
                         "best-effort do not wait for its requests";
}

// The scheduler forgets jobs that ended long ago; the journal does not.
Result<JobRecord> not_ended(JobRecord record) {
  return record.over()
             ? conflict(fmt::format("job {} has already ended ({})", record.id, record.code()))
             : Result<JobRecord>(std::move(record));
}

}  // namespace

ApiAnswer JobApi::act(const Caller& caller, JobId job, const std::string& verb) {
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        const Result<JobRecord> record = own_job(scheduler, caller, job).and_then(not_ended);
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

ApiAnswer JobApi::update(const Caller& caller, JobId job, std::string_view body) {
  Result<JobUpdated> change = parse_update_request(body, caller.user, wall_clock_s());
  if (!change) {
    return error_answer(change.error());
  }
  change->begin_s = scheduler_time(change->begin_s);
  const JobSpec wanted{.priority = change->priority.value_or(std::numeric_limits<int>::min()),
                       .job_class = change->job_class.value_or(JobClass::Normal)};
  if (const auto allowed = check_user_limits(parts_.limits, caller, {&wanted, 1}); !allowed) {
    return error_answer(allowed.error());
  }
  return json_answer(
      parts_.loop.ask<json>([&](schedule::Scheduler& scheduler, double now_s) -> Result<json> {
        const Result<JobRecord> record = own_job(scheduler, caller, job).and_then(not_ended);
        if (!record) {
          return tl::unexpected(record.error());
        }
        return scheduler.update(job, *change, now_s).map([&] {
          json answer = {{"id", job}, {"done", "update"}};
          if (const std::string remark = class_remark(record->spec, *change); !remark.empty()) {
            answer["remark"] = remark;
          }
          return answer;
        });
      }));
}

}  // namespace carpool::serve
