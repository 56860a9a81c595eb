// Any bytes as an event of the journal or as a job of the API: a value that is the same when
// written and read again, or an error with a message. The first byte selects: e event, j job.
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/job_record.hpp"
#include "core/json/job_json.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

void feed_event(std::string_view text) {
  const auto event = parse_event(text, "event");
  if (!event) {
    require(event.error().message.starts_with("event: "));
    return;
  }
  const std::string once = event_line(*event);
  const auto again = parse_event(once, "event");
  require(again.has_value() && event_line(*again) == once);
  JobRecord record;
  (void)apply(record, *event);
}

void feed_job(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) {
    return;
  }
  const auto job = job_from(object, "job");
  if (!job) {
    require(job.error().message.starts_with("job: "));
    return;
  }
  const auto once = job_object(*job);
  const auto again = job_from(once, "job");
  require(again.has_value() && job_object(*again) == once);
}

}  // namespace

void feed_jobs(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  if (bytes.front() == 'e') {
    feed_event(bytes.substr(1));
  } else if (bytes.front() == 'j') {
    feed_job(bytes.substr(1));
  }
}

}  // namespace carpool::fuzz
