#include "run/job_cgroup.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/files/proc_file.hpp"
#include "base/log.hpp"
#include "base/process/cgroup.hpp"
#include "base/text/digest.hpp"

namespace carpool::run {
namespace {

constexpr const char* kServer = "server";
constexpr const char* kSupervisors = "supervisors";
constexpr const char* kJobs = "jobs";
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

std::uint64_t number_in(const char* file) {
  std::istringstream text(read_proc_file(file));
  std::uint64_t number = 0;
  text >> number;
  return number;
}

// The processes and threads that the machine can have.
std::uint64_t most_processes() {
  return std::min(number_in("/proc/sys/kernel/pid_max"), number_in("/proc/sys/kernel/threads-max"));
}

std::uint64_t host_memory_bytes() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
             : 0;
}

struct Division {
  std::filesystem::path base{};
  bool may_limit = false;       // controllers may be enabled below it
  bool below_the_root = false;  // of the hierarchy
};

Division division_of(const std::filesystem::path& own) {
  const std::filesystem::path parent = own.parent_path();
  if (own.filename() == kServer && ::access((parent / "cgroup.procs").c_str(), W_OK) == 0) {
    return {.base = parent, .may_limit = true};  // DelegateSubgroup=server, or divided before
  }
  // The root of the hierarchy, which has no such file, is shared with all users.
  std::error_code ignored;
  if (!std::filesystem::exists(own / "cgroup.events", ignored)) {
    return {.base = own / "carpool", .may_limit = true, .below_the_root = true};
  }
  // The kernel refuses processes in a cgroup with controllers enabled below it. A service manager
  // starts the next server there while jobs of this one still run.
  return {.base = own, .may_limit = own.extension() != ".service"};
}

}  // namespace

// Where the kernel or a manager withholds a controller, its limits are not set.
void limit_all_jobs(const std::filesystem::path& base, bool below_root) {
  const std::filesystem::path jobs = base / kJobs;
  for (const char* controller : {"+pids", "+memory"}) {
    if (below_root) {
      static_cast<void>(set_cgroup(base.parent_path(), "cgroup.subtree_control", controller));
    }
    static_cast<void>(set_cgroup(base, "cgroup.subtree_control", controller));
    static_cast<void>(set_cgroup(jobs, "cgroup.subtree_control", controller));
  }
  const std::uint64_t processes = most_processes();
  const std::uint64_t memory = host_memory_bytes();
  // For the rest of the machine: a quarter of the processes, a twentieth of the memory.
  static_cast<void>(set_cgroup(jobs, "pids.max", fmt::format("{}", processes - processes / 4)));
  const std::uint64_t kept = std::clamp(memory / 20, 256 * kMiB, 8192 * kMiB);
  if (memory > 2 * kept) {
    static_cast<void>(set_cgroup(jobs, "memory.max", fmt::format("{}", memory - kept)));
  }
}

Result<std::filesystem::path> divide_own_cgroup() {
  const auto own = cgroup_of(::getpid());
  if (!own) {
    return fail(ErrorCode::Unsupported, "cgroup version 2 is not mounted");
  }
  const Division division = division_of(*own);
  for (const std::filesystem::path& part : {division.base,
                                            division.base / kServer,
                                            division.base / kSupervisors,
                                            division.base / kJobs}) {
    if (Result<void> made = make_cgroup(part); !made) {
      return tl::unexpected(made.error());
    }
  }
  if (Result<void> moved = enter_cgroup(division.base / kServer, ::getpid()); !moved) {
    return tl::unexpected(moved.error());
  }
  if (division.may_limit) {
    limit_all_jobs(division.base, division.below_the_root);
  }
  return division.base / kJobs;
}

std::filesystem::path job_cgroups() {
  const Result<std::filesystem::path> divided = divide_own_cgroup();
  if (!divided) {
    log_info(fmt::format("jobs have no cgroups of their own ({}); see `carpool doctor`",
                         divided.error().message));
  }
  return divided.value_or(std::filesystem::path());
}

CgroupUse cgroup_use_of(pid_t server) {
  const auto own = cgroup_of(server);
  if (!own || own->filename() != kServer) {
    return {};
  }
  const std::filesystem::path jobs = own->parent_path() / kJobs;
  std::error_code ignored;
  return {.divided = std::filesystem::exists(jobs, ignored),
          .limits_processes = has_controller(jobs, "pids"),
          .limits_memory = has_controller(jobs, "memory")};
}

std::filesystem::path job_cgroup_path(const std::filesystem::path& jobs,
                                      const std::filesystem::path& runs,
                                      const std::string& journal,
                                      RunId run) {
  constexpr std::size_t kTagLength = 12;
  std::error_code ignored;
  const std::string identity =
      fmt::format("{}\n{}", journal, std::filesystem::weakly_canonical(runs, ignored).string());
  return jobs /
         fmt::format("{}-{}.{}", sha256_hex(identity).substr(0, kTagLength), run.job, run.attempt);
}

void leave_server_cgroup(const std::filesystem::path& job_cgroup) {
  const std::filesystem::path base = job_cgroup.parent_path().parent_path();
  if (const auto entered = enter_cgroup(base / kSupervisors, ::getpid()); !entered) {
    log_warning(entered.error().message);
  }
}

Result<void> make_job_cgroup(const RunFolder& folder, const std::filesystem::path& cgroup) {
  // One is left where the state folder was replaced while a job ran.
  if (!remove_cgroup(cgroup)) {
    return fail(ErrorCode::Conflict,
                fmt::format("the cgroup {} holds processes of another job", cgroup.string()));
  }
  // Recorded before it exists: whatever exists can be found.
  if (Result<void> recorded = write_file(folder.path() / "cgroup", cgroup.string()); !recorded) {
    return recorded;
  }
  if (Result<void> made = make_cgroup(cgroup); !made) {
    return made;
  }
  // One job leaves processes for the others.
  static_cast<void>(set_cgroup(cgroup, "pids.max", fmt::format("{}", most_processes() / 2)));
  // Without one of its processes a job may wait for it for ever.
  static_cast<void>(set_cgroup(cgroup, "memory.oom.group", "1"));
  return {};
}

std::optional<std::filesystem::path> recorded_cgroup(const RunFolder& folder) {
  const Result<std::string> text = read_file(folder.path() / "cgroup");
  if (!text) {
    return std::nullopt;
  }
  // The processes of any cgroup named here are killed, so a damaged file must not name another.
  const std::filesystem::path cgroup(*text);
  const std::string run = fmt::format("-{}", folder.path().filename().string());
  const bool ours = cgroup.is_absolute() && cgroup.filename().string().ends_with(run) &&
                    cgroup.parent_path().filename() == kJobs && cgroup.lexically_normal() == cgroup;
  return ours ? std::optional(cgroup) : std::nullopt;
}

}  // namespace carpool::run
