#include "run/process_executor.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"
#include "base/process/spawn.hpp"
#include "base/result.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/run_ending.hpp"
#include "run/run_folder.hpp"
#include "run/supervisor.hpp"
#include "run/supervisor_order.hpp"

namespace carpool::run {
namespace {

Result<void> make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Internal, fmt::format("make {}: {}", path.string(), last_error()));
  }
  return {};
}

// The order as an open file without a name.
Result<Descriptor> in_memory(const std::string& text) {
  Descriptor file(::memfd_create("carpool-order", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file.valid() && written < text.size()) {
    const ssize_t part = ::write(file.get(), text.data() + written, text.size() - written);
    if (part <= 0) {
      break;
    }
    written += static_cast<std::size_t>(part);
  }
  if (!file.valid() || written != text.size() || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("pass the order to a supervisor: {}", last_error()));
  }
  return file;
}

// An attempt that was launched or found running, and whose end has not been reported.
struct Watched {
  RunId run{};
  RunFolder folder;
  pid_t starter = 0;  // the process that starts the supervisor; 0 once the supervisor has begun
  gpu::ProcessIdentity supervisor{};
  Descriptor handle{};             // pidfd of the starter, then of the supervisor
  std::optional<StopMode> stop{};  // requested
};

tl::unexpected<RunExit> trouble(TroubleScope scope, const Error& error) {
  return tl::unexpected(
      RunExit{.end = RunEnd::MachineTrouble, .detail = error.message, .scope = scope});
}

void signal_supervisor(const gpu::ProcessIdentity& supervisor, StopMode mode) {
  gpu::send_signal(supervisor, mode == StopMode::Ask ? kAskSignal : kKillSignal);
}

}  // namespace

struct ProcessExecutor::State {
  ProcessExecutorSettings settings;
  Descriptor epoll{};
  std::string boot = boot_id();
  std::map<RunId, Watched> watched{};
  std::vector<RunReport> reports{};

  // False: the process no longer exists.
  bool watch(Watched& entry, pid_t pid) {
    entry.handle = open_pidfd(pid);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = entry.handle.get();
    return entry.handle.valid() &&
           ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, entry.handle.get(), &event) == 0;
  }

  void report_end(RunId run, RunExit exit) {
    reports.push_back({RunReport::Kind::Ended, run, std::move(exit)});
  }

  // The starter has ended. False: the attempt has ended, too.
  bool begin(Watched& entry) {
    ::waitpid(entry.starter, nullptr, 0);
    entry.starter = 0;
    // If the attempt is not claimed yet, this claim keeps any supervisor from beginning it.
    const auto abandoned = entry.folder.claim({.abandoned = true, .boot = boot});
    const auto claim = entry.folder.claimed();
    if (!abandoned || !claim || !*claim || (*claim)->abandoned) {
      report_end(entry.run,
                 {.end = RunEnd::NeverStarted,
                  .detail = fmt::format("the supervisor could not start in {}",
                                        entry.folder.path().string()),
                  .at_s = epoch_seconds()});
      return false;
    }
    return follow(entry, (*claim)->supervisor);
  }

  // Watches the supervisor. False: it has ended already.
  bool follow(Watched& entry, const gpu::ProcessIdentity& supervisor) {
    entry.supervisor = supervisor;
    // The PID may belong to another process by now; then the supervisor has ended.
    if (!watch(entry, supervisor.pid) || !gpu::is_alive(supervisor)) {
      report_end(entry.run, conclude(entry.folder, true));
      return false;
    }
    reports.push_back({RunReport::Kind::Running, entry.run, {}});
    if (entry.stop) {
      signal_supervisor(supervisor, *entry.stop);
    }
    return true;
  }

  // The watched process has ended. False: the attempt has ended, too.
  bool advance(Watched& entry) {
    if (entry.starter != 0) {
      return begin(entry);
    }
    report_end(entry.run, conclude(entry.folder, true));
    return false;
  }

  [[nodiscard]] std::set<int> ended_handles() const {
    std::set<int> found;
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      found.insert(events[static_cast<std::size_t>(i)].data.fd);
    }
    return found;
  }

  [[nodiscard]] Result<std::optional<MpsPlace>> mps_place(const LaunchSpec& spec) const {
    if (spec.mechanism != ShareMechanism::Mps || spec.gpu_uuids.size() != 1) {
      return std::nullopt;
    }
    const uid_t uid = ::geteuid() == 0 ? spec.owner.uid : ::geteuid();
    const std::string place = fmt::format("{}-{}", spec.gpu_indices.front(), uid);
    MpsPlace mps{.gpu_uuid = spec.gpu_uuids.front(),
                 .folder = settings.mps / place,
                 .users = settings.mps / fmt::format("{}.users", place)};
    // A root server creates it for the user, who has no permission to.
    if (const Result<void> made = make_folder(mps.folder); !made) {
      return tl::unexpected(made.error());
    }
    if (::geteuid() == 0 && ::lchown(mps.folder.c_str(), uid, static_cast<gid_t>(-1)) != 0) {
      return fail(ErrorCode::Internal,
                  fmt::format("give {} to user {}: {}", mps.folder.string(), uid, last_error()));
    }
    return mps;
  }
};

ProcessExecutor::ProcessExecutor(std::unique_ptr<State> state) : state_(std::move(state)) {}

ProcessExecutor::~ProcessExecutor() = default;  // supervisors and jobs continue

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::open(
    const ProcessExecutorSettings& settings) {
  for (const auto* folder : {&settings.runs, &settings.mps}) {
    if (const Result<void> made = make_folder(*folder); !made) {
      return tl::unexpected(made.error());
    }
  }
  // Users reach the folder of their MPS daemon through it, and cannot list it.
  if (::geteuid() == 0 && ::chmod(settings.mps.c_str(), 0711) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("open {}: {}", settings.mps.string(), last_error()));
  }
  auto state = std::make_unique<State>(State{.settings = settings});
  state->epoll = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!state->epoll.valid()) {
    return fail(ErrorCode::Internal, fmt::format("watch processes: {}", last_error()));
  }
  return std::unique_ptr<ProcessExecutor>(new ProcessExecutor(std::move(state)));
}

Launched ProcessExecutor::launch(const LaunchSpec& spec) {
  const RunFolder folder = RunFolder::of(state_->settings.runs, spec.run);
  const auto mps = state_->mps_place(spec);
  if (!mps) {
    return trouble(TroubleScope::Gpus, mps.error());
  }
  const Result<SupervisorOrder> order =
      folder.make().and_then([&] { return make_order(spec, folder.path(), *mps); });
  if (!order) {
    return trouble(TroubleScope::Machine, order.error());
  }
  const Result<Descriptor> handed = in_memory(write_order(*order));
  if (!handed) {
    return trouble(TroubleScope::Machine, handed.error());
  }
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Command supervisor;
  supervisor.argv = {state_->settings.program, "guard"};
  const Result<pid_t> starter =
      spawn(supervisor, {.in = handed->get(), .out = nowhere.get(), .err = nowhere.get()});
  if (!starter) {
    return trouble(TroubleScope::Machine, starter.error());
  }
  Watched entry{.run = spec.run, .folder = folder, .starter = *starter};
  state_->watch(entry, *starter);  // cannot fail: the starter is a zombie until waitpid()
  state_->watched.insert_or_assign(spec.run, std::move(entry));
  return {};
}

void ProcessExecutor::stop(RunId run, StopMode mode) {
  const auto found = state_->watched.find(run);
  if (found == state_->watched.end()) {
    return;
  }
  Watched& entry = found->second;
  entry.stop = mode;
  if (entry.starter == 0) {
    signal_supervisor(entry.supervisor, mode);
  } else if (const auto claim = entry.folder.claimed(); claim && *claim) {
    signal_supervisor((*claim)->supervisor, mode);  // it has begun, or waits for its MPS daemon
  }
}

std::vector<RunReport> ProcessExecutor::take_reports() {
  std::set<int> over = state_->ended_handles();
  while (!over.empty()) {
    for (auto entry = state_->watched.begin(); entry != state_->watched.end();) {
      const bool goes_on =
          !over.contains(entry->second.handle.get()) || state_->advance(entry->second);
      entry = goes_on ? std::next(entry) : state_->watched.erase(entry);
    }
    over = state_->ended_handles();
  }
  return std::exchange(state_->reports, {});
}

Result<FoundRun> ProcessExecutor::find(const LaunchSpec& spec) {
  const RunFolder folder = RunFolder::of(state_->settings.runs, spec.run);
  const Result<bool> abandoned = folder.make().and_then(
      [&] { return folder.claim({.abandoned = true, .boot = state_->boot}); });
  if (!abandoned) {
    return tl::unexpected(abandoned.error());
  }
  const auto claim = folder.claimed();
  if (!claim) {
    return tl::unexpected(claim.error());
  }
  if (!*claim || (*claim)->abandoned) {
    return FoundRun{.state = FoundRun::State::NeverBegan};
  }
  const bool same_boot = (*claim)->boot == state_->boot;
  Watched entry{.run = spec.run, .folder = folder, .supervisor = (*claim)->supervisor};
  if (same_boot && state_->watch(entry, entry.supervisor.pid) && gpu::is_alive(entry.supervisor)) {
    state_->watched.insert_or_assign(spec.run, std::move(entry));
    return FoundRun{.state = FoundRun::State::Running};
  }
  return FoundRun{.state = FoundRun::State::Ended, .exit = conclude(folder, same_boot)};
}

int ProcessExecutor::wake_descriptor() const {
  return state_->epoll.get();
}

std::vector<RunningJob> ProcessExecutor::running() const {
  std::vector<RunningJob> found;
  for (const auto& [run, entry] : state_->watched) {
    const auto leader = entry.folder.leader();
    if (entry.starter == 0 && leader && *leader) {
      found.push_back({run, entry.supervisor.pid, (*leader)->pid});
    }
  }
  return found;
}

}  // namespace carpool::run
