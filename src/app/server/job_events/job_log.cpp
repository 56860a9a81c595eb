#include "app/server/job_events/job_log.hpp"

#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/printable.hpp"
#include "core/job_names.hpp"

namespace carpool::app {
namespace {

std::string because(const std::string& reason) {
  return reason.empty() ? std::string() : fmt::format(": {}", reason);
}

std::string told(const JobStarted& start) {
  return fmt::format("attempt {} starts on GPU {}{}",
                     start.attempt,
                     fmt::join(start.gpus, ","),
                     because(start.reason));
}

std::string told(const JobEnded& ended) {
  return fmt::format(
      "attempt {} ended: {}{}", ended.attempt, name_of(ended.exit.end), because(ended.exit.detail));
}

std::string told(const JobRequeued& requeued) {
  return fmt::format("back in the queue{}", because(requeued.reason));
}

std::string told(const JobClosed& closed) {
  return fmt::format("closed, {}{}", name_of(closed.end), because(closed.reason));
}

template <class Other>
std::string told(const Other& /*event*/) {
  return {};
}

}  // namespace

std::string job_log_line(const JobEvent& event, const JobRecord* job) {
  const std::string what = std::visit([](const auto& kind) { return told(kind); }, event.what);
  if (what.empty()) {
    return {};
  }
  const std::string who =
      job == nullptr ? std::string() : fmt::format(" ({}, {})", job->owner.user, job->spec.name);
  return printable(fmt::format("job {}{}: {}", event.job, who, what));
}

}  // namespace carpool::app
