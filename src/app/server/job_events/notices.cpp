#include "app/server/job_events/notices.hpp"

#include <charconv>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <variant>

#include <fmt/format.h>

#include "base/log.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/notice.hpp"

namespace carpool::app {
namespace {

std::optional<JobId> job_of_folder(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  JobId job = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), job);
  const bool whole = problem == std::errc{} && end == name.data() + name.size();
  return whole ? std::optional(job) : std::nullopt;
}

std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    found.push_back(entry.path());
  }
  return found;
}

}  // namespace

std::filesystem::path Notices::folder_of(JobId job) const {
  return folder_ / fmt::format("{}", job);
}

void Notices::expect(JobId job) const {
  ::mkdir(folder_.c_str(), 0700);
  ::mkdir(folder_of(job).c_str(), 0700);  // a failure is told when the command is due
}

void Notices::begin(const JobRecord& job) {
  if (const Result<pid_t> started = start_(job, folder_of(job.id))) {
    starters_.push_back(*started);
  } else {
    log_warning(fmt::format("job {}: --notify does not run: {}", job.id, started.error().message));
  }
}

void Notices::reap() {
  std::erase_if(starters_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

void Notices::on_event(const JobEvent& event, const JobRecord* job) {
  if (!start_) {
    return;
  }
  reap();
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.what)) {
    if (!submitted->spec.notify.empty()) {
      expect(event.job);
    }
  } else if (std::holds_alternative<JobClosed>(event.what) && job != nullptr &&
             !job->spec.notify.empty()) {
    expect(event.job);
    begin(*job);
  }
}

void Notices::log_failures() const {
  constexpr std::size_t kMostBytes = 400;
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders_in(folder_)) {
    if (folder.extension() == run::kFailedNotice) {
      log_warning(fmt::format("job {}: --notify failed: {}",
                              folder.stem().string(),
                              run::tail_of(folder / run::kNoticeFailure, kMostBytes)));
      std::filesystem::remove_all(folder, ignored);
    }
  }
}

void Notices::catch_up(const std::vector<JobId>& jobs, const Find& find) {
  if (!start_) {
    return;
  }
  log_failures();
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders_in(folder_)) {
    const std::optional<JobId> id = job_of_folder(folder);
    const std::optional<JobRecord> job = id ? find(*id) : std::nullopt;
    if (!id) {
      std::filesystem::remove_all(folder, ignored);  // one that is done
    }
    const bool begun = std::filesystem::exists(folder / "claim", ignored);
    if (!begun && job && job->over()) {
      begin(*job);
    }
  }
  for (const JobId id : jobs) {
    if (const std::optional<JobRecord> job = find(id);
        job && !job->over() && !job->spec.notify.empty()) {
      expect(id);
    }
  }
}

}  // namespace carpool::app
