#include "run/supervisor/supervisor_launch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process/spawn.hpp"
#include "run/job_cgroup.hpp"
#include "run/mps/mps_sweeping.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {
namespace {

Result<Descriptor> file_in_memory(const std::string& text) {
  Descriptor file(::memfd_create("carpool", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file.valid() && written < text.size()) {
    const ssize_t part = ::write(file.get(), text.data() + written, text.size() - written);
    if (part < 0 && errno == EINTR) {
      continue;
    }
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

// Removes every variable of the server but those that a supervisor needs to find programs and
// their libraries.
std::map<std::string, std::string> without_environment() {
  constexpr std::array<std::string_view, 3> kKept = {
      "PATH", "LD_LIBRARY_PATH", "CARPOOL_MPS_CONTROL"};
  std::map<std::string, std::string> changes;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(kKept, name) == kKept.end()) {
      changes[std::string(name)] = "";
    }
  }
  return changes;
}

Command guard_command(const ProcessExecutorSettings& settings) {
  Command command;
  command.argv = {settings.program, "guard"};
  command.environment = without_environment();
  command.working_folder = "/";
  return command;
}

Result<std::optional<MpsPlace>> make_mps_place(const std::filesystem::path& mps,
                                               const LaunchSpec& spec) {
  if (spec.mechanism != ShareMechanism::Mps || spec.gpu_uuids.size() != 1) {
    return std::nullopt;
  }
  const uid_t uid = ::geteuid() == 0 ? spec.owner.uid : ::geteuid();
  const std::string name = write_place_name({.gpu = spec.gpu_indices.front(), .uid = uid});
  MpsPlace place{
      .gpu_uuid = spec.gpu_uuids.front(), .folder = mps / name, .users = mps_users_file(mps, name)};
  // A root server creates it for the user, who has no permission to.
  return make_private_folder(mps_lock_folder(mps))
      .and_then([&] { return make_daemon_folder(place.folder, uid); })
      .map([&] { return std::optional(place); });
}

// Whether it runs with the library in front of the driver.
bool add_shim(const ProcessExecutorSettings& settings,
              const LaunchSpec& spec,
              SupervisorOrder& order) {
  const Variables variables = settings.shim ? settings.shim(spec, order.env) : Variables{};
  for (const auto& [name, value] : variables) {
    if (value.empty()) {
      order.env.erase(name);
    } else {
      order.env[name] = value;
    }
  }
  return !variables.empty();
}

// A job that cannot be measured runs like any other. The profiler's library and the one in front of
// the driver, which counts launches too, are never in one process.
void add_progress(const ProcessExecutorSettings& settings,
                  const LaunchSpec& spec,
                  bool shim,
                  SupervisorOrder& order) {
  ProgressPlace place = settings.progress;
  if (shim) {
    place.library.clear();
  }
  auto variables = ProgressFiles::of(place.folder, spec.run).make(place, spec, order.env);
  if (variables) {
    order.env.merge(*variables);
  } else {
    log_warning(fmt::format(
        "the progress of job {} is not measured: {}", spec.run.job, variables.error().message));
  }
}

// By default OpenMP runs a thread for each processor, in every job that shares the machine.
void limit_openmp_threads(unsigned threads, const LaunchSpec& spec, SupervisorOrder& order) {
  if (threads > 0 && spec.mechanism != ShareMechanism::None) {
    order.env.try_emplace("OMP_NUM_THREADS", fmt::format("{}", threads));
  }
}

Started<SupervisorOrder> order_for(const ProcessExecutorSettings& settings,
                                   const LaunchSpec& spec,
                                   const RunFolder& folder) {
  const auto mps = make_mps_place(settings.mps, spec);
  if (!mps) {
    return machine_trouble(TroubleScope::Gpus, mps.error().message);
  }
  if (const Result<void> made = folder.make(); !made) {
    return machine_trouble(TroubleScope::Machine, made.error().message);
  }
  return make_order(spec, folder.path(), *mps).map([&](SupervisorOrder order) {
    order.journal = settings.journal;
    order.output_limit_bytes = settings.output_limit_bytes;
    const bool shim = add_shim(settings, spec, order);
    add_progress(settings, spec, shim, order);
    limit_openmp_threads(settings.openmp_threads, spec, order);
    if (!settings.cgroups.empty()) {
      order.cgroup = job_cgroup_path(settings.cgroups, settings.runs, settings.journal, spec.run);
    }
    return order;
  });
}

}  // namespace

Result<void> make_private_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Internal, fmt::format("make {}: {}", path.string(), last_error()));
  }
  return {};
}

Result<void> make_daemon_folder(const std::filesystem::path& folder, uid_t uid) {
  if (Result<void> made = make_private_folder(folder); !made) {
    return made;
  }
  if (::geteuid() == 0 && ::lchown(folder.c_str(), uid, static_cast<gid_t>(-1)) != 0) {
    return fail(ErrorCode::Internal,
                fmt::format("give {} to user {}: {}", folder.string(), uid, last_error()));
  }
  return {};
}

Started<Starter> start_supervisor(const ProcessExecutorSettings& settings,
                                  const LaunchSpec& spec,
                                  const RunFolder& folder) {
  const Started<SupervisorOrder> order = order_for(settings, spec, folder);
  if (!order) {
    return tl::unexpected(order.error());
  }
  const Result<Descriptor> handed = file_in_memory(write_order(*order));
  Result<Descriptor> words = handed ? file_in_memory("") : tl::unexpected(handed.error());
  if (!words) {
    return machine_trouble(TroubleScope::Machine, words.error().message);
  }
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Result<pid_t> pid = spawn(guard_command(settings),
                                  {.in = handed->get(), .out = words->get(), .err = nowhere.get()});
  if (!pid) {
    return machine_trouble(TroubleScope::Machine, pid.error().message);
  }
  return Starter{.pid = *pid, .words = std::move(*words)};
}

std::optional<StartTrouble> told_by(const Starter& starter) {
  std::array<char, 4096> text{};
  const ssize_t got =
      starter.words.valid() ? ::pread(starter.words.get(), text.data(), text.size(), 0) : 0;
  if (got <= 0) {
    return std::nullopt;
  }
  return read_trouble(std::string_view(text.data(), static_cast<std::size_t>(got)));
}

Result<pid_t> start_notice_process(const ProcessExecutorSettings& settings,
                                   const SupervisorOrder& order) {
  const Result<Descriptor> handed = file_in_memory(write_order(order));
  if (!handed) {
    return tl::unexpected(handed.error());
  }
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Command command = guard_command(settings);
  command.argv.emplace_back("--notice");
  return spawn(command, {.in = handed->get(), .out = nowhere.get(), .err = nowhere.get()});
}

void sweep_mps_daemons(const ProcessExecutorSettings& settings) {
  std::error_code ignored;
  bool any = false;
  for (const auto& entry : std::filesystem::directory_iterator(settings.mps, ignored)) {
    any = any || read_place_name(entry.path().filename().string());
  }
  if (!any) {
    return;
  }
  const Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Command command = guard_command(settings);
  command.argv.insert(command.argv.end(), {"--sweep-mps", settings.mps.string()});
  const Result<pid_t> pid =
      spawn(command, {.in = nowhere.get(), .out = nowhere.get(), .err = nowhere.get()});
  if (!pid) {
    log_warning(fmt::format("look for MPS daemons that are left: {}", pid.error().message));
    return;
  }
  while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace carpool::run
