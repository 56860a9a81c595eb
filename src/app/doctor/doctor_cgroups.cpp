#include "app/doctor/doctor_cgroups.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "app/doctor/doctor_checks.hpp"
#include "base/process/cgroup.hpp"
#include "base/process/process_table.hpp"

namespace carpool::app {
namespace {

// "carpool", then "serve".
bool is_server(pid_t pid) {
  const std::string command = process_command(pid);
  const std::string_view text(command);
  const std::size_t program = text.find('\0');
  return program != std::string_view::npos &&
         std::filesystem::path(text.substr(0, program)).filename() == "carpool" &&
         text.substr(program + 1).substr(0, text.substr(program + 1).find('\0')) == "serve";
}

int worth(const run::CgroupUse& use) {
  return static_cast<int>(use.divided) + static_cast<int>(use.limits_processes) +
         static_cast<int>(use.limits_memory);
}

}  // namespace

CgroupFacts look_at_cgroups() {
  CgroupFacts facts{.mounted = cgroup_of(::getpid()).has_value()};
  for (const ProcessEntry& process : list_processes()) {
    if (!is_server(process.pid)) {
      continue;
    }
    const run::CgroupUse use = run::cgroup_use_of(process.pid);
    if (!facts.server || worth(use) < worth(facts.use)) {
      facts.server = process.pid;
      facts.use = use;
    }
  }
  return facts;
}

DoctorCheck check_cgroups(const DoctorFacts& facts) {
  DoctorCheck check = start_check("cgroups");
  const CgroupFacts& cgroups = facts.cgroups;
  const run::CgroupUse& use = cgroups.use;
  if (!cgroups.mounted) {
    check.state = CheckState::Degraded;
    check.found = "version 2 is not mounted";
    check.advice =
        "jobs are ended process by process and have no limits on processes and host memory; start "
        "the kernel with systemd.unified_cgroup_hierarchy=1, or a container with "
        "--cgroupns=private";
  } else if (!cgroups.server) {
    check.found = "version 2; no server is running";
  } else if (!use.divided) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("the server (process {}) may not divide its cgroup", *cgroups.server);
    check.advice =
        "its jobs are ended process by process and have no limits on processes and host memory; "
        "start it by its systemd unit, which has Delegate=pids memory (docs/install.md)";
  } else if (!use.limits_processes || !use.limits_memory) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("each job of the server (process {}) has one, without limits on {}",
                              *cgroups.server,
                              use.limits_memory      ? "processes"
                              : use.limits_processes ? "host memory"
                                                     : "processes and host memory");
    check.advice =
        "limits need cgroup version 2 alone, systemd 254 or newer, and the lines Delegate=pids "
        "memory and DelegateSubgroup=server in the unit (docs/install.md)";
  } else {
    check.found =
        fmt::format("each job of the server (process {}) has one, with limits", *cgroups.server);
  }
  return check;
}

}  // namespace carpool::app
