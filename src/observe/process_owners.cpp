#include "observe/process_owners.hpp"

#include <set>
#include <string>
#include <utility>

#include "base/process/process_table.hpp"

namespace carpool::observe {
namespace {

bool is_mps_server(std::int64_t pid) {
  return process_command(pid).find("nvidia-cuda-mps") != std::string::npos;
}

}  // namespace

ProcessOwners find_process_owners(std::span<const JobProcesses> running,
                                  std::map<unsigned, std::vector<JobId>> residents) {
  const std::vector<ProcessEntry> processes = list_processes();
  std::set<std::int64_t> visible;
  for (const ProcessEntry& process : processes) {
    visible.insert(process.pid);
  }
  std::map<std::int64_t, JobId> jobs;
  for (const JobProcesses& job : running) {
    for (const ProcessEntry& process : job_processes(processes, job.supervisor, job.session)) {
      jobs[process.pid] = job.job;
    }
  }
  auto owner = [jobs = std::move(jobs), visible = std::move(visible)](std::int64_t pid) {
    if (const auto job = jobs.find(pid); job != jobs.end()) {
      return ProcessOwner{ProcessOwner::Kind::Job, job->second};
    }
    if (!visible.contains(pid)) {
      return ProcessOwner{ProcessOwner::Kind::Unknown};
    }
    return ProcessOwner{is_mps_server(pid) ? ProcessOwner::Kind::MpsServer
                                           : ProcessOwner::Kind::Foreign};
  };
  return {.owner = std::move(owner), .residents = std::move(residents)};
}

}  // namespace carpool::observe
