#include "run/supervisor/notice.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"
#include "base/process/spawn.hpp"
#include "base/text/web_address.hpp"
#include "core/job_names.hpp"
#include "run/job_leader.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor/notice_document.hpp"
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

std::string host_of_notice() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), HOST_NAME_MAX) == 0 ? name.data() : std::string();
}

// The program of Carpool posts it, with none of the job's libraries.
void post_instead(SupervisorOrder& order,
                  const ProcessExecutorSettings& settings,
                  const JobRecord& job,
                  const ShownTime& shown) {
  constexpr std::array<std::string_view, 7> kKept = {
      "PATH", "HOME", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR"};
  std::erase_if(order.env, [&](const auto& variable) {
    return std::ranges::find(kKept, variable.first) == kKept.end();
  });
  order.argv = {settings.program, "post-notice"};
  order.cwd = "/";
  order.env[kNoticeAddress] = job.spec.notify;
  order.env[kNoticeDocument] = notice_document(job, host_of_notice(), shown);
}

Result<SupervisorOrder> order_of_notice(const ProcessExecutorSettings& settings,
                                        const JobRecord& job,
                                        const std::filesystem::path& folder,
                                        const ShownTime& shown) {
  const LaunchSpec spec{.run = {.job = job.id, .attempt = 1}, .job = job.spec, .owner = job.owner};
  Started<SupervisorOrder> order = make_order(spec, folder, std::nullopt);
  if (!order) {
    return fail(ErrorCode::Unavailable, order.error().message);
  }
  order->journal = settings.journal;
  order->output.clear();
  order->error.clear();
  if (has_scheme(job.spec.notify)) {
    post_instead(*order, settings, job, shown);
    return std::move(*order);
  }
  order->argv = {"/bin/sh", "-c", job.spec.notify};
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

// How it failed; empty: it did not.
std::string await_end(pid_t leader, SupervisorSignals& signals) {
  const Stopwatch watch;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(leader, &status, WNOHANG)) == 0 && watch.seconds() < kNoticeLimitS) {
    static_cast<void>(signals.next_within(kNoticeLook));
  }
  if (ended != leader) {
    return fmt::format("it did not end within {:.0f} s", kNoticeLimitS);
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("signal {}", WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? std::string()
                                  : fmt::format("exit code {}", WEXITSTATUS(status));
}

// How it failed, empty if it did not; or why it could not begin.
Started<std::string> run_command_of(const SupervisorOrder& order, SupervisorSignals& signals) {
  return JobLeader::make(order).and_then([&](JobLeader leader) {
    return leader.let_go().map([&] { return await_end(leader.pid(), signals); });
  });
}

std::string last_line_of(const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = 300;
  std::string text = tail_of(file, kMostBytes);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

// What the server writes to its log; empty: nothing failed.
std::string failure_of_notice(SupervisorOrder order, SupervisorSignals& signals) {
  Started<std::string> failure = run_command_of(order, signals);
  if (!failure) {
    order.cwd.clear();  // the folder of the job may be gone
    failure = run_command_of(order, signals);
  }
  if (!failure) {
    return failure.error().message;
  }
  const std::string said =
      failure->empty() ? std::string() : last_line_of(RunFolder(order.folder).stderr_file());
  if (said.empty()) {
    return *failure;
  }
  return order.env.contains(kNoticeAddress) ? said : fmt::format("{}: {}", *failure, said);
}

void give_notice(const SupervisorOrder& order) {
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
  const std::string failure = failure_of_notice(order, signals);
  SupervisedProcesses({}).end();
  std::error_code ignored;
  if (!failure.empty() && write_file(order.folder / kNoticeFailure, failure)) {
    std::filesystem::rename(
        order.folder, order.folder.string() + std::string(kFailedNotice), ignored);
    return;
  }
  // At once: without its claim the folder would be one whose command has not begun.
  const std::filesystem::path done = order.folder.string() + ".done";
  std::filesystem::rename(order.folder, done, ignored);
  std::filesystem::remove_all(done, ignored);
}

}  // namespace

Result<pid_t> start_notice(const ProcessExecutorSettings& settings,
                           const JobRecord& job,
                           const std::filesystem::path& folder,
                           const ShownTime& shown) {
  return order_of_notice(settings, job, folder, shown).and_then([&](const SupervisorOrder& order) {
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
  give_notice(*order);
  return kSupervisorBegan;
}

}  // namespace carpool::run
