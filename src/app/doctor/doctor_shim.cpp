#include "app/doctor/doctor_shim.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/doctor_checks.hpp"
#include "app/launch/process_memory.hpp"
#include "app/launch/shim_environment.hpp"
#include "app/top/shim_clients.hpp"
#include "base/process/child_process.hpp"
#include "base/process/process_table.hpp"
#include "interpose/state/reader.hpp"
#include "interpose/state/state_folder.hpp"

namespace carpool::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCoverageLimit{60};
constexpr int kOldestDriver = 12000;
constexpr std::size_t kMissedShown = 5;

std::string variable_or_empty(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// This program again, with the library in front of the driver as a user's program has it.
void try_library(ShimFacts& facts) {
  Command command;
  command.argv = {"/proc/self/exe", "check-shim", *facts.driver};
  command.environment = shim_environment({.library = facts.library,
                                          .real_libcuda = *facts.driver,
                                          .state_folder = facts.state_folder,
                                          .name = "carpool doctor"},
                                         {.preload = variable_or_empty("LD_PRELOAD"),
                                          .library_path = variable_or_empty("LD_LIBRARY_PATH")});
  const auto done = run_command(command, "", kCoverageLimit);
  if (!done) {
    facts.check_problem = done.error().message;
  } else if (!done->status.ok() || !done->err.empty()) {
    const std::string said = done->err.empty() ? done->out : done->err;
    facts.check_problem = said.empty() ? "a program with it ends at once" : said;
  } else {
    facts.coverage = interpose::parse_coverage(done->out);
  }
  facts.check_problem.erase(facts.check_problem.find_last_not_of('\n') + 1);
}

std::string problem_of_folder(const fs::path& folder) {
  fs::path existing = folder;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  return ::access(existing.c_str(), W_OK | X_OK) == 0
             ? ""
             : fmt::format("{} is not writable", existing.string());
}

void look_at_state(ShimFacts& facts, const std::vector<GpuInfo>& gpus) {
  interpose::PathBuffer path{};
  if (!interpose::default_state_folder(path)) {
    facts.state_problem = "its path is too long";
    return;
  }
  facts.state_folder = path.data();
  facts.state_problem = problem_of_folder(facts.state_folder);
  for (const GpuInfo& gpu : gpus) {
    interpose::StateReader reader;
    const interpose::StateError error = reader.open("", gpu.uuid, ::geteuid());
    if (error != interpose::StateError::None && error != interpose::StateError::Absent) {
      facts.state_problem = fmt::format("GPU {}: {}", gpu.index, interpose::describe(error));
    }
  }
}

// Who uses a GPU beside the programs with the library.
void look_at_processes(ShimFacts& facts,
                       const GpuInfo& gpu,
                       const std::vector<GpuProcess>& processes) {
  const std::vector<ShimClient> clients = ShimClientWatch().read(gpu.uuid);
  facts.clients += clients.size();
  for (const GpuProcess& process : processes) {
    const bool is_mps = process_command(process.pid).find("nvidia-cuda-mps") != std::string::npos;
    const std::optional<bool> library = has_library(clients, process.pid);
    if (!clients.empty() && library != true && !is_mps) {
      (library ? facts.escaped : facts.foreign)
          .push_back(fmt::format("{} on GPU {}", process_text(memory_of(process)), gpu.index));
    }
  }
}

DoctorCheck check_processes(const ShimFacts& facts) {
  DoctorCheck check = start_check("programs without the library");
  check.found = fmt::format("none beside {} with it", facts.clients);
  if (!facts.escaped.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("{}", fmt::join(facts.escaped, "; "));
    check.advice =
        "no memory limit is enforced for them; their memory counts as foreign. Programs that are "
        "setuid, linked statically, or started with a cleared environment escape: start them with "
        "`carpool run`";
  } else if (!facts.foreign.empty()) {
    check.found = fmt::format("of other users: {}; their memory counts as foreign",
                              fmt::join(facts.foreign, "; "));
  }
  return check;
}

DoctorCheck check_library(const ShimFacts& facts) {
  DoctorCheck check = start_check("library of carpool run");
  check.found = facts.library.string();
  if (!facts.library_problem.empty()) {
    check.state = CheckState::Missing;
    check.found = "not found";
    check.advice = facts.library_problem;
  } else if (!facts.driver) {
    check.state = CheckState::Degraded;
    check.found = "not tried: the loader finds no libcuda.so.1";
    check.advice =
        "install the driver; start a container with the NVIDIA runtime (--gpus all, driver "
        "capability compute)";
  } else if (!facts.check_problem.empty()) {
    check.state = CheckState::Missing;
    check.found = fmt::format("does not load: {}", facts.check_problem);
    check.advice = "programs do not start with `carpool run`; build Carpool on this system";
  } else if (facts.coverage.opened != facts.library.string()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("{} takes its place", facts.coverage.opened);
    check.advice =
        "another library calls itself libcuda.so.1, so calls of programs are not seen and memory "
        "limits do not hold: remove it from LD_PRELOAD, /etc/ld.so.preload or LD_LIBRARY_PATH";
  }
  return check;
}

DoctorCheck check_coverage(const ShimFacts& facts) {
  DoctorCheck check = start_check("CUDA calls seen");
  const interpose::Coverage& coverage = facts.coverage;
  const std::string version = fmt::format(
      "CUDA {}.{}", coverage.driver_version / 1000, coverage.driver_version % 1000 / 10);
  check.found = fmt::format("all {} look-ups of {}", coverage.asked, version);
  if (!coverage.missed.empty()) {
    check.state = CheckState::Degraded;
    const std::size_t shown = std::min(coverage.missed.size(), kMissedShown);
    check.found =
        fmt::format("{} of {} look-ups pass by the library: {}{}",
                    coverage.missed.size(),
                    coverage.asked,
                    fmt::join(coverage.missed.begin(),
                              coverage.missed.begin() + static_cast<std::ptrdiff_t>(shown),
                              "; "),
                    shown < coverage.missed.size() ? "; …" : "");
    check.advice =
        "the driver is newer than this Carpool: programs that use these functions are counted "
        "and limited in part; update Carpool";
  } else if (coverage.driver_version < kOldestDriver) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("the driver is of {}", version);
    check.advice = "Carpool is made for CUDA 12 and newer: update the driver";
  }
  return check;
}

DoctorCheck check_state(const ShimFacts& facts) {
  DoctorCheck check = start_check("shared state");
  check.found = facts.state_folder.string();
  if (!facts.state_problem.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("{}: {}", facts.state_folder.string(), facts.state_problem);
    check.advice =
        "programs run, but `carpool top` does not see them and memory limits do not hold: set "
        "CARPOOL_STATE_DIR to a folder that only you can open, or remove this one when no program "
        "uses it";
  }
  return check;
}

}  // namespace

ShimFacts look_at_shim(const std::vector<GpuInfo>& gpus,
                       const std::vector<std::vector<GpuProcess>>& processes) {
  ShimFacts facts;
  look_at_state(facts, gpus);
  for (std::size_t place = 0; place < std::min(gpus.size(), processes.size()); ++place) {
    look_at_processes(facts, gpus[place], processes[place]);
  }
  const Result<fs::path> library = find_shim_library();
  if (!library) {
    facts.library_problem = library.error().message;
    return facts;
  }
  facts.library = *library;
  if (const Result<std::string> driver = find_driver(*library)) {
    facts.driver = *driver;
  }
  if (facts.driver) {
    try_library(facts);
  }
  return facts;
}

std::vector<DoctorCheck> doctor_shim_checks(const ShimFacts& facts) {
  std::vector<DoctorCheck> checks{check_library(facts)};
  if (checks.front().state == CheckState::Ok) {
    checks.push_back(check_coverage(facts));
  }
  checks.push_back(check_state(facts));
  if (facts.clients > 0) {
    checks.push_back(check_processes(facts));
  }
  return checks;
}

}  // namespace carpool::app
