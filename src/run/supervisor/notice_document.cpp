#include "run/supervisor/notice_document.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/job_names.hpp"

namespace carpool::run {
namespace {

using nlohmann::json;

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

// Seconds since 1970, to the millisecond, as in the API.
json shown_seconds(const ShownTime& shown, double at_s) {
  constexpr double kMilliseconds = 1000.0;
  return std::round(shown(at_s) * kMilliseconds) / kMilliseconds;
}

// "Job 17 (train.py) failed on gpu1: exit code 3"
std::string sentence_of(const JobRecord& job, const std::string& name, const std::string& host) {
  return fmt::format("Job {}{} {} on {}{}{}",
                     job.id,
                     name.empty() ? "" : fmt::format(" ({})", name),
                     job.state == JobState::Cancelled ? "was cancelled" : name_of(job.state),
                     host,
                     job.reason.empty() ? "" : ": ",
                     job.reason);
}

}  // namespace

std::string notice_document(const JobRecord& job, const std::string& host, const ShownTime& shown) {
  const JobSpec& spec = job.spec;
  const std::string& name = spec.name.empty() && !spec.argv.empty() ? spec.argv.front() : spec.name;
  json document = {{"id", job.id},
                   {"name", name},
                   {"user", job.owner.user},
                   {"host", host},
                   {"state", name_of(job.state)},
                   {"reason", job.reason},
                   {"attempts", job.attempts.size()},
                   {"array_job", or_null(job.array_job())},
                   {"array_index", or_null(spec.array_index)},
                   {"submitted_s", shown_seconds(shown, job.submitted_s)},
                   {"started_s", nullptr},
                   {"ended_s", job.ended_s ? shown_seconds(shown, *job.ended_s) : json(nullptr)},
                   {"gpus", json::array()},
                   {"exit_code", nullptr},
                   {"signal", nullptr},
                   {"text", sentence_of(job, name, host)}};
  if (!job.attempts.empty()) {
    const JobAttempt& last = job.attempts.back();
    document["started_s"] = shown_seconds(shown, last.started_s);
    document["gpus"] = last.start.gpus;
    document["exit_code"] = or_null(last.exit.code);
    document["signal"] = or_null(last.exit.signal);
  }
  // A reason may quote output of the job.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace carpool::run
