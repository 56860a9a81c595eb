#include "run/mps/mps_fault.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <sys/stat.h>

#include "base/clock.hpp"
#include "gpu/mps/mps_ending.hpp"
#include "gpu/mps/mps_parse.hpp"
#include "run/mps/mps_access.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kAskAgain{250};
constexpr int kMostAsks = 40;
constexpr std::size_t kMostLogBytes = std::size_t{1} << 20U;

std::uint64_t size_of(const std::filesystem::path& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// What was written since the file had this size, as far as it is of use.
std::string text_since(const std::filesystem::path& file, std::uint64_t bytes) {
  const std::uint64_t size = size_of(file);
  return tail_of(file, std::min<std::uint64_t>(size - std::min(size, bytes), kMostLogBytes));
}

// The daemon says when a server has ended, whatever the cause.
bool server_ended_since(const MpsPlace& place, std::uint64_t log_bytes) {
  return text_since(control_log(place), log_bytes).find(" exited with status ") !=
         std::string::npos;
}

MpsVerdict verdict_of(const gpu::MpsFatalErrors& errors, pid_t leader) {
  if (errors.clients.size() < 2) {
    return MpsVerdict::OwnGpuFault;
  }
  return errors.clients.contains(leader) ? MpsVerdict::GpuFaultOfJob : MpsVerdict::SharedGpuFault;
}

// With the rights of the job's user.
MpsVerdict look_at_mps(const MpsPlace& place,
                       const gpu::ProcessIdentity& daemon,
                       const MpsLogs& logs,
                       pid_t leader) {
  const Result<gpu::MpsControl> control = control_of(place);
  if (!control) {
    return MpsVerdict::NoFault;  // no evidence
  }
  const Result<std::vector<gpu::MpsServer>> servers = control->servers();
  if (!servers || gpu::mps_daemon_in(*control) != daemon ||
      server_ended_since(place, logs.control_bytes)) {
    return MpsVerdict::Failed;
  }
  const auto errors = gpu::parse_mps_fatal_errors(text_since(server_log(place), logs.server_bytes));
  if (errors.any) {
    return verdict_of(errors, leader);
  }
  return std::ranges::any_of(*servers, &gpu::MpsServer::faulted) ? MpsVerdict::Failed
                                                                 : MpsVerdict::NoFault;
}

MpsVerdict ask_about_mps(const SupervisorOrder& order,
                         const gpu::ProcessIdentity& daemon,
                         const MpsLogs& logs,
                         pid_t leader) {
  const auto look = [&] {
    return std::string(
        1,
        static_cast<char>('0' + static_cast<int>(look_at_mps(*order.mps, daemon, logs, leader))));
  };
  // A machine without processes or descriptors says nothing about MPS.
  Started<std::string> words = as_job_user(order, look);
  for (int tries = 1; !words && tries < kMostAsks; ++tries) {
    pause_for(kAskAgain);
    words = as_job_user(order, look);
  }
  return words && words->size() == 1 ? static_cast<MpsVerdict>(words->front() - '0')
                                     : MpsVerdict::NoFault;
}

}  // namespace

MpsLogs mps_logs(const MpsPlace& place) {
  return {.control_bytes = size_of(control_log(place)), .server_bytes = size_of(server_log(place))};
}

MpsVerdict judge_mps(const SupervisorOrder& order,
                     const gpu::ProcessIdentity& daemon,
                     const MpsLogs& logs,
                     pid_t leader) {
  const MpsVerdict verdict = ask_about_mps(order, daemon, logs, leader);
  if (verdict != MpsVerdict::OwnGpuFault) {
    return verdict;
  }
  pause_for(kAskAgain);  // the server may not have named all clients yet
  return ask_about_mps(order, daemon, logs, leader);
}

void MpsFaultWatch::begin() {
  read_bytes_ = size_of(server_log(*order_.mps));
}

bool MpsFaultWatch::gpu_failed() {
  const std::uint64_t size = size_of(server_log(*order_.mps));
  if (size <= read_bytes_) {
    read_bytes_ = size;  // the log of another daemon
    return false;
  }
  const Started<std::string> words = as_job_user(order_, [&]() -> std::string {
    return gpu::parse_mps_fatal_errors(text_since(server_log(*order_.mps), read_bytes_)).any
               ? "failed"
               : "";
  });
  if (words) {
    read_bytes_ = size;
  }
  return words && *words == "failed";
}

}  // namespace carpool::run
