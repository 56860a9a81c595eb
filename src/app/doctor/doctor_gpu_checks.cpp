#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/doctor_checks.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::app {
namespace {

// Indices of the GPUs for which `holds` is true: "0, 2".
template <class Holds>
std::string gpus_where(const std::vector<GpuInfo>& gpus, Holds holds) {
  std::vector<unsigned> found;
  for (const GpuInfo& gpu : gpus) {
    if (holds(gpu)) {
      found.push_back(gpu.index);
    }
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

DoctorCheck check_driver(const DoctorFacts& facts) {
  DoctorCheck check = start_check("driver", CheckNeeded::Yes);
  if (facts.nvml_problem.empty()) {
    check.found = facts.gpus.empty() ? "responds" : facts.gpus.front().driver;
    return check;
  }
  check.state = CheckState::Missing;
  check.found = facts.nvml_problem;
  check.advice = facts.pci_gpus > 0
                     ? fmt::format("{} NVIDIA GPU{} on the PCI bus: install the NVIDIA driver",
                                   facts.pci_gpus,
                                   facts.pci_gpus == 1 ? " is" : "s are")
                     : "no NVIDIA GPU is on the PCI bus: run Carpool on a machine that has one";
  return check;
}

DoctorCheck check_nvml(const DoctorFacts& facts) {
  DoctorCheck check = start_check("NVML library", CheckNeeded::Yes);
  if (facts.nvml_library) {
    check.found = facts.nvml_library->string();
    return check;
  }
  check.state = CheckState::Missing;
  check.found = "the loader does not find libnvidia-ml.so.1";
  check.advice =
      "install the driver, which includes it; start a container with the NVIDIA runtime (--gpus "
      "all)";
  return check;
}

DoctorCheck check_gpus(const DoctorFacts& facts) {
  DoctorCheck check = start_check("GPUs", CheckNeeded::Yes);
  if (facts.gpus.empty()) {
    check.state = CheckState::Missing;
    check.found = "none visible";
    check.advice =
        facts.nvml_problem.empty()
            ? "the driver responds but lists no GPU: check `nvidia-smi -L` and the kernel log"
            : "";
    return check;
  }
  std::vector<std::string> names;
  names.reserve(facts.gpus.size());
  for (const GpuInfo& gpu : facts.gpus) {
    names.push_back(fmt::format("{}: {}, {}", gpu.index, gpu.name, gib_text(gpu.memory_bytes)));
  }
  check.found = fmt::format("{}", fmt::join(names, "; "));
  return check;
}

DoctorCheck check_device_files(const DoctorFacts& facts) {
  DoctorCheck check = start_check("device files");
  std::vector<std::string> refused;
  for (const DeviceFile& file : facts.device_files) {
    if (!file.usable) {
      refused.push_back(file.path.string());
    }
  }
  if (facts.device_files.empty()) {
    check.state = CheckState::Missing;
    check.found = "no /dev/nvidia* exists";
    check.advice = facts.pci_gpus > 0
                       ? "load the driver's kernel module (modprobe nvidia; nvidia-smi as root)"
                       : "";
  } else if (!refused.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("this user cannot open {}", fmt::join(refused, ", "));
    check.advice =
        "ask the administrator to add you to the group that owns them (ls -l /dev/nvidia*)";
  } else {
    check.found = fmt::format("{} files, all usable", facts.device_files.size());
  }
  return check;
}

DoctorCheck check_gpm(const DoctorFacts& facts) {
  DoctorCheck check = start_check("SM counters (GPM)");
  const std::string without =
      gpus_where(facts.gpus, [](const GpuInfo& gpu) { return !gpu.fine_activity; });
  if (!without.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("not available on GPU {}", without);
    check.advice =
        "they need Hopper or newer; Carpool shows coarser utilisation in their place and marks it";
  } else {
    check.found = "available on every GPU";
  }
  return check;
}

DoctorCheck check_mig(const DoctorFacts& facts) {
  DoctorCheck check = start_check("MIG mode");
  const std::string with =
      gpus_where(facts.gpus, [](const GpuInfo& gpu) { return gpu.mig_enabled; });
  if (!with.empty()) {
    check.state = CheckState::Degraded;
    check.found = fmt::format("on for GPU {}", with);
    check.advice = "Carpool shares whole GPUs: turn MIG off with `nvidia-smi -i N -mig 0` as root";
  } else {
    check.found = "off";
  }
  return check;
}

DoctorCheck check_compute_mode(const DoctorFacts& facts) {
  DoctorCheck check = start_check("compute mode", CheckNeeded::Yes);
  const auto in_mode = [&](std::string_view mode) {
    return gpus_where(facts.gpus, [&](const GpuInfo& gpu) { return gpu.compute_mode == mode; });
  };
  const std::string prohibited = in_mode("prohibited");
  const std::string exclusive = in_mode("exclusive-process");
  if (!prohibited.empty()) {
    check.state = CheckState::Missing;
    check.found = fmt::format("prohibited on GPU {}: no program can run there", prohibited);
    check.advice = "run `nvidia-smi -i N -c DEFAULT` as root";
  } else if (!exclusive.empty()) {
    check.state = CheckState::Degraded;
    check.found =
        fmt::format("exclusive-process on GPU {}: only one MPS server can use it", exclusive);
    check.advice = "time slicing needs the default mode: run `nvidia-smi -i N -c DEFAULT` as root";
  } else {
    check.found = "default";
  }
  return check;
}

DoctorCheck check_counters(const DoctorFacts& facts) {
  DoctorCheck check = start_check("kernel counters");
  if (!facts.counters_for_admin_only) {
    check.state = CheckState::Degraded;
    check.found = "the driver does not report who may read them";
    check.advice = "if kernel profiling is refused, run it as root";
  } else if (*facts.counters_for_admin_only && !facts.admin) {
    check.state = CheckState::Degraded;
    check.found = "only root may read them";
    check.advice = "profile as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  } else {
    check.found = *facts.counters_for_admin_only ? "only root may read them, and this user is root"
                                                 : "all users may read them";
  }
  return check;
}

}  // namespace

std::vector<DoctorCheck> doctor_gpu_checks(const DoctorFacts& facts) {
  std::vector<DoctorCheck> checks{
      check_driver(facts), check_nvml(facts), check_gpus(facts), check_device_files(facts)};
  if (!facts.gpus.empty()) {
    checks.push_back(check_compute_mode(facts));
    checks.push_back(check_mig(facts));
    checks.push_back(check_gpm(facts));
    checks.push_back(check_counters(facts));
  }
  return checks;
}

}  // namespace carpool::app
