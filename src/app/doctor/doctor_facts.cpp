#include "app/doctor/doctor_facts.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "base/files/proc_file.hpp"
#include "base/files/runtime_folder.hpp"
#include "base/process/child_process.hpp"
#include "gpu/library_probe.hpp"
#include "gpu/nvml/nvml_telemetry.hpp"

namespace carpool::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPythonLimit{60};

// Entries of a folder; empty if it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator i(folder, ignored), end; i != end; i.increment(ignored)) {
    found.push_back(i->path());
  }
  return found;
}

// NVIDIA display controllers, which include 3D controllers but not audio devices and switches.
std::size_t count_pci_gpus() {
  std::size_t count = 0;
  for (const fs::path& device : entries("/sys/bus/pci/devices")) {
    if (read_proc_file(device / "vendor").starts_with("0x10de") &&
        read_proc_file(device / "class").starts_with("0x03")) {
      ++count;
    }
  }
  return count;
}

std::vector<DeviceFile> find_device_files() {
  std::vector<DeviceFile> files;
  for (const fs::path& path : entries("/dev")) {
    std::error_code ignored;
    if (path.filename().string().starts_with("nvidia") && fs::is_character_file(path, ignored)) {
      files.push_back({path, ::access(path.c_str(), R_OK | W_OK) == 0});
    }
  }
  return files;
}

void look_at_driver(DoctorFacts& facts) {
  facts.nvml_library = gpu::find_library({"libnvidia-ml.so.1", "libnvidia-ml.so"});
  auto source = gpu::open_nvml();
  if (!source) {
    facts.nvml_problem = source.error().message;
    return;
  }
  auto gpus = (*source)->list_gpus();
  if (!gpus) {
    facts.nvml_problem = gpus.error().message;
    return;
  }
  facts.gpus = std::move(*gpus);
  for (const GpuInfo& gpu : facts.gpus) {
    facts.processes.push_back((*source)->processes(gpu.index).value_or(std::vector<GpuProcess>()));
  }
}

std::optional<ForeignMps> find_foreign_mps() {
  // The default of the driver, which ignores TMPDIR.
  const fs::path folder = fs::path("/tmp") / "nvidia-mps";
  std::error_code ignored;
  if (!fs::exists(folder / "control", ignored)) {
    return std::nullopt;
  }
  ForeignMps found{.folder = folder, .pid = std::nullopt};
  const std::string text = read_proc_file(folder / "nvidia-cuda-mps-control.pid");
  std::int64_t pid = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), pid).ec == std::errc() && pid > 0) {
    if (!fs::exists(fs::path("/proc") / std::to_string(pid), ignored)) {
      return std::nullopt;  // stale file of a daemon that has ended
    }
    found.pid = pid;
  }
  return found;
}

// The CUDA toolkit installs CUPTI in a folder that the loader does not search.
std::optional<fs::path> find_cupti_elsewhere() {
  const char* home = std::getenv("CUDA_HOME");
  const fs::path cuda = home != nullptr && *home != '\0' ? home : "/usr/local/cuda";
  for (const char* folder : {"lib64", "extras/CUPTI/lib64"}) {
    for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
      std::error_code ignored;
      if (fs::exists(cuda / folder / name, ignored)) {
        return cuda / folder / name;
      }
    }
  }
  return std::nullopt;
}

PythonFacts look_at_python() {
  const char* program =
      "import torch; print(torch.__version__ + ', CUDA ' + "
      "('usable' if torch.cuda.is_available() else 'not usable'))";
  const auto done = carpool::run_command(
      Command{.argv = {"python3", "-c", program}, .environment = {}, .working_folder = {}},
      "",
      kPythonLimit);
  if (!done) {
    return {.found = done.error().code != ErrorCode::NotFound,
            .torch = "",
            .said = done.error().message};
  }
  std::string text = done->status.ok() ? done->out : done->err;
  text.erase(text.find_last_not_of('\n') + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  return done->status.ok() ? PythonFacts{.found = true, .torch = text, .said = ""}
                           : PythonFacts{.found = true, .torch = "", .said = text};
}

std::uint64_t soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : 0;
}

void look_at_runtime_folder(DoctorFacts& facts) {
  facts.runtime_folder = runtime_folder();
  const fs::path parent = facts.runtime_folder.parent_path();
  std::error_code problem;
  const auto space = fs::space(parent, problem);
  if (!problem && ::access(parent.c_str(), W_OK) == 0) {
    facts.runtime_free_bytes = space.available;
  }
}

}  // namespace

std::optional<bool> parse_admin_only(std::string_view params) {
  constexpr std::string_view kName = "RmProfilingAdminOnly: ";
  const std::size_t at = params.find(kName);
  if (at == std::string_view::npos || at + kName.size() >= params.size()) {
    return std::nullopt;
  }
  return params[at + kName.size()] != '0';
}

DoctorFacts gather_doctor_facts(bool python) {
  DoctorFacts facts;
  facts.pci_gpus = count_pci_gpus();
  look_at_driver(facts);
  facts.device_files = find_device_files();
  facts.mps = gpu::probe_mps();
  facts.foreign_mps = find_foreign_mps();
  facts.cupti = gpu::find_library({"libcupti.so.13", "libcupti.so.12"});
  facts.cupti_elsewhere = facts.cupti ? std::nullopt : find_cupti_elsewhere();
  if (auto ncu = find_program("ncu")) {
    facts.ncu = std::move(*ncu);
  }
  facts.counters_for_admin_only = parse_admin_only(read_proc_file("/proc/driver/nvidia/params"));
  facts.admin = ::geteuid() == 0;
  if (python) {
    facts.python = look_at_python();
  }
  facts.open_files = soft_limit(RLIMIT_NOFILE);
  facts.locked_bytes = soft_limit(RLIMIT_MEMLOCK);
  look_at_runtime_folder(facts);
  facts.servers = look_at_servers(facts.gpus);
  facts.shim = look_at_shim(facts.gpus, facts.processes);
  facts.cgroups = look_at_cgroups();
  return facts;
}

}  // namespace carpool::app
