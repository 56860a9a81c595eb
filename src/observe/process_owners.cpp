#include "observe/process_owners.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/process/process_table.hpp"

namespace carpool::observe {
namespace {

constexpr int kMostAncestors = 1000;

bool is_mps_server(std::int64_t pid) {
  return process_command(pid).find("nvidia-cuda-mps") != std::string::npos;
}

// Looks at the processes that are asked for and their ancestors: a machine has thousands.
class OwnerSearch {
 public:
  explicit OwnerSearch(std::span<const JobProcesses> running) {
    for (const JobProcesses& job : running) {
      supervisors_.emplace(job.supervisor, job.job);
      if (job.session > 0) {
        sessions_.emplace(job.session, job.job);
      }
    }
  }

  [[nodiscard]] ProcessOwner owner(std::int64_t pid) {
    if (pid <= 0 || pid > std::numeric_limits<pid_t>::max() || !process(static_cast<pid_t>(pid))) {
      return {ProcessOwner::Kind::Unknown};
    }
    if (const auto job = job_of(static_cast<pid_t>(pid))) {
      return {ProcessOwner::Kind::Job, *job};
    }
    return {is_mps_server(pid) ? ProcessOwner::Kind::MpsServer : ProcessOwner::Kind::Foreign};
  }

 private:
  [[nodiscard]] const std::optional<ProcessEntry>& process(pid_t pid) {
    const auto known = seen_.find(pid);
    return known != seen_.end() ? known->second
                                : seen_.emplace(pid, find_process(pid)).first->second;
  }

  [[nodiscard]] std::optional<JobId> job_of(pid_t pid) {
    for (int step = 0; step < kMostAncestors; ++step) {
      const auto& entry = process(pid);
      if (!entry) {
        return std::nullopt;
      }
      if (const auto job = sessions_.find(entry->session); job != sessions_.end()) {
        return job->second;
      }
      if (const auto job = supervisors_.find(entry->parent); job != supervisors_.end()) {
        return job->second;
      }
      pid = entry->parent;
    }
    return std::nullopt;
  }

  std::map<pid_t, JobId> supervisors_;
  std::map<pid_t, JobId> sessions_;
  std::map<pid_t, std::optional<ProcessEntry>> seen_;
};

}  // namespace

ProcessOwners find_process_owners(std::span<const JobProcesses> running,
                                  std::map<unsigned, std::vector<JobId>> residents) {
  auto search = std::make_shared<OwnerSearch>(running);
  return {.owner = [search](std::int64_t pid) { return search->owner(pid); },
          .residents = std::move(residents)};
}

}  // namespace carpool::observe
