#include "app/launch/watched_job.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace carpool::app {

using nlohmann::json;

bool has_ended(const json& job) {
  return job.contains("ended_s");
}

Result<void> WatchedJob::submit(const json& request) {
  return server_.post("/v1/jobs", request).map([&](const json& accepted) {
    id_ = accepted.at("ids").at(0).get<std::int64_t>();
  });
}

Result<json> WatchedJob::look() {
  Result<json> job = ask([&] { return server_.get(fmt::format("/v1/jobs/{}", id_)); });
  if (job) {
    tell(*job);
  }
  return job;
}

// A reason that is gone at the next look is not told: most jobs start at once.
void WatchedJob::tell(const json& job) {
  const std::string state = job.value("state", "");
  if (state == "queued" || state == "held") {
    const std::string reason = job.value("reason", "");
    if (reason == seen_reason_ && reason != told_reason_) {
      log_info(fmt::format("job {} is waiting: {}", id_, reason));
      told_reason_ = reason;
    }
    seen_reason_ = reason;
    return;
  }
  seen_reason_.clear();
  if (!told_reason_.empty() && state == "running") {
    log_info(fmt::format("job {} has started", id_));
    told_reason_.clear();
  }
}

void WatchedJob::pause(std::chrono::milliseconds span) {
  if (cancel_wanted_) {
    try_cancel();
  }
  if (!signals_) {
    pause_for(span);
  } else if (signals_->wait_for(span)) {
    cancel();
  }
}

void WatchedJob::cancel() {
  if (signals_) {
    log_info(fmt::format("cancelling job {}; Ctrl-C again leaves at once", id_));
    try_cancel();
    signals_.reset();  // the next signal has its usual effect
  }
}

void WatchedJob::try_cancel() {
  const Result<json> done = server_.post(fmt::format("/v1/jobs/{}/cancel", id_), json::object());
  cancel_wanted_ = !done && done.error().code == ErrorCode::Unavailable;
}

}  // namespace carpool::app
