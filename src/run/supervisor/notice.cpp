#include "run/supervisor/notice.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"
#include "base/process/spawn.hpp"
#include "core/job_names.hpp"
#include "run/job_leader.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/supervised_processes.hpp"
#include "run/supervisor/supervisor.hpp"
#include "run/supervisor/supervisor_launch.hpp"
#include "run/supervisor_signals.hpp"

namespace carpool::run {
namespace {

constexpr double kNoticeLimitS = 60.0;
constexpr std::chrono::seconds kNoticeLook{1};

// As a shell would report it; empty: the job never ran.
std::string exit_code_text(const JobRecord& job) {
  if (job.attempts.empty()) {
    return {};
  }
  const RunExit& exit = job.attempts.back().exit;
  if (exit.signal) {
    return fmt::format("{}", 128 + *exit.signal);
  }
  return exit.code ? fmt::format("{}", *exit.code) : std::string();
}

Result<SupervisorOrder> order_of_notice(const JobRecord& job, const std::filesystem::path& folder) {
  const LaunchSpec spec{.run = {.job = job.id, .attempt = 1}, .job = job.spec, .owner = job.owner};
  Started<SupervisorOrder> order = make_order(spec, folder, std::nullopt);
  if (!order) {
    return fail(ErrorCode::Unavailable, order.error().message);
  }
  order->argv = {"/bin/sh", "-c", job.spec.notify};
  order->output.clear();
  order->error.clear();
  // Nothing takes it for a process of the job, which has ended.
  for (const char* name :
       {"CARPOOL_RUN_FOLDER", "CARPOOL_RUN_ID", "CARPOOL_ATTEMPT", "CARPOOL_GPUS"}) {
    order->env.erase(name);
  }
  order->env["CARPOOL_JOB_STATE"] = name_of(job.state);
  order->env["CARPOOL_EXIT_CODE"] = exit_code_text(job);
  return std::move(*order);
}

std::string text_of_input() {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(STDIN_FILENO, part.data(), part.size())) > 0 ||
         (got < 0 && errno == EINTR)) {
    text.append(part.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  }
  return text;
}

void await_end(pid_t leader, SupervisorSignals& signals) {
  const Stopwatch watch;
  while (::waitpid(leader, nullptr, WNOHANG) == 0 && watch.seconds() < kNoticeLimitS) {
    static_cast<void>(signals.next_within(kNoticeLook));
  }
}

// False: it could not begin.
bool run_command_of(const SupervisorOrder& order, SupervisorSignals& signals) {
  Started<JobLeader> leader = JobLeader::make(order);
  if (!leader || !leader->let_go()) {
    return false;
  }
  await_end(leader->pid(), signals);
  return true;
}

void give_notice(SupervisorOrder order) {
  SupervisorSignals signals;
  signals.block();
  const RunFolder folder(order.folder);
  const auto self = gpu::identify(::getpid());
  const auto claimed = folder.claim({.supervisor = self.value_or(gpu::ProcessIdentity{}),
                                     .boot = boot_id(),
                                     .journal = order.journal});
  if (!claimed || !*claimed) {
    return;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!run_command_of(order, signals)) {
    order.cwd.clear();  // the folder of the job may be gone
    static_cast<void>(run_command_of(order, signals));
  }
  SupervisedProcesses({}).end();
  // At once: without its claim the folder would be one whose command has not begun.
  const std::filesystem::path done = order.folder.string() + ".done";
  std::error_code ignored;
  std::filesystem::rename(order.folder, done, ignored);
  std::filesystem::remove_all(done, ignored);
}

}  // namespace

Result<pid_t> start_notice(const ProcessExecutorSettings& settings,
                           const JobRecord& job,
                           const std::filesystem::path& folder) {
  return order_of_notice(job, folder).and_then([&](SupervisorOrder order) {
    order.journal = settings.journal;
    return start_notice_process(settings, order);
  });
}

int run_notice() {
  Result<SupervisorOrder> order = read_order(text_of_input());
  if (!order) {
    return kSupervisorDidNot;
  }
  const pid_t pid = ::fork();
  if (pid != 0) {
    return pid < 0 ? kSupervisorDidNot : kSupervisorBegan;
  }
  ::setsid();
  leave_streams();
  give_notice(std::move(*order));
  return kSupervisorBegan;
}

}  // namespace carpool::run
