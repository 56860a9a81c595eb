#include "app/launch/kernel_log_file.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace carpool::app {

Result<std::unique_ptr<KernelLogFile>> KernelLogFile::create(const std::filesystem::path& path,
                                                             interpose::StateReader state,
                                                             std::uint64_t job) {
  auto log = std::make_unique<KernelLogFile>();
  log->path_ = path;
  log->state_ = std::move(state);
  log->job_ = job;
  log->file_.reset(std::fopen(path.c_str(), "we"));
  if (log->file_ == nullptr) {
    return invalid_input(fmt::format("--kernel-log {}: {}", path.string(), last_error()));
  }
  fmt::print(log->file_.get(), "time_ns,pid,stream,kernel\n");
  return log;
}

void KernelLogFile::collect() {
  interpose::StateReport report;
  // Also what processes have written that have ended since.
  if (state_.read(report, interpose::StateReader::Dead::Keep) != interpose::StateError::None) {
    return;
  }
  for (const interpose::ClientReport& client : report.clients) {
    if (client.job != job_) {
      continue;
    }
    interpose::LogFollower& follower = followers_[{client.id.slot, client.id.generation}];
    for (const interpose::LaunchRecord& record : state_.follow(client.id, follower)) {
      fmt::print(file_.get(),
                 "{},{},{:x},{}\n",
                 record.time_ns,
                 client.pid,
                 record.stream,
                 record.key == 0 ? std::string() : fmt::format("{:016x}", record.key));
    }
  }
}

Result<void> KernelLogFile::finish() {
  collect();
  if (std::ferror(file_.get()) != 0 || std::fflush(file_.get()) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("{} is not complete: {}", path_.string(), last_error()));
  }
  return {};
}

std::uint64_t KernelLogFile::missed() const {
  std::uint64_t sum = 0;
  for (const auto& [client, follower] : followers_) {
    sum += follower.missed();
  }
  return sum;
}

}  // namespace carpool::app
