// Any bytes as the last output of a job: its end, which the journal can hold. The first byte is the
// exit record; a NUL parts standard output from standard error.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/json/job_json.hpp"
#include "run/failure_classifier.hpp"
#include "run/oom_message.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

run::ExitRecord record_of(unsigned char bits) {
  run::ExitRecord record;
  if ((bits & 1U) != 0) {
    record.signal = static_cast<int>(bits >> 4U);
  } else {
    record.code = static_cast<int>(bits >> 4U);
  }
  record.stop_asked = (bits & 2U) != 0;
  record.mps_fault = (bits & 4U) != 0;
  record.host_memory = (bits & 8U) != 0;
  return record;
}

}  // namespace

void feed_exit_classifier(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  const std::size_t middle = std::min(text.find('\0'), text.size());
  const std::string_view errors = text.substr(std::min(middle + 1, text.size()));
  const RunExit exit = run::classify_exit(
      record_of(static_cast<unsigned char>(bytes.front())), text.substr(0, middle), errors);
  (void)run::oom_wanted(text);
  (void)run::oom_held(text);

  const std::string line =
      event_line(JobEvent{.job = 1, .what = JobEnded{.attempt = 1, .exit = exit}});
  const auto again = parse_event(line, "event");
  require(again.has_value() && event_line(*again) == line);
}

}  // namespace carpool::fuzz
