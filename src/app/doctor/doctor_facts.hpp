// The facts that `carpool doctor` finds on this machine. doctor_checks.hpp judges them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/doctor_cgroups.hpp"
#include "app/doctor/doctor_server.hpp"
#include "app/doctor/doctor_shim.hpp"
#include "base/result.hpp"
#include "core/gpu.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::app {

struct DeviceFile {
  std::filesystem::path path;
  bool usable = false;  // this user may read and write it
};

// An MPS daemon in the default folder of the driver, which Carpool does not use.
struct ForeignMps {
  std::filesystem::path folder;
  std::optional<std::int64_t> pid;  // from its pid file, if readable
};

struct PythonFacts {
  bool found = false;
  std::string torch;  // "2.11.0+cu130, CUDA usable"; empty: not installed
  std::string said;   // the last line of the error output
};

struct DoctorFacts {
  std::size_t pci_gpus = 0;  // NVIDIA GPUs on the bus, with or without a driver
  std::optional<std::filesystem::path> nvml_library;  // found by the loader
  std::string nvml_problem;                           // why NVML cannot be used; empty: it can
  std::vector<GpuInfo> gpus;
  std::vector<std::vector<GpuProcess>> processes{};      // of each GPU
  std::vector<DeviceFile> device_files;                  // /dev/nvidia*
  Result<gpu::MpsAbilities> mps = gpu::MpsAbilities{};   // the control program
  std::optional<ForeignMps> foreign_mps;                 // not ours
  std::optional<std::filesystem::path> cupti;            // found by the loader
  std::optional<std::filesystem::path> cupti_elsewhere;  // only in the folder of CUDA
  std::optional<std::filesystem::path> ncu;
  std::optional<bool> counters_for_admin_only;  // absent: the driver does not report it
  bool admin = false;
  std::optional<PythonFacts> python;  // absent: not requested
  std::uint64_t open_files = 0;       // limits of this process
  std::uint64_t locked_bytes = 0;
  std::filesystem::path runtime_folder;  // for pipes and logs
  std::optional<std::uint64_t> runtime_free_bytes;
  ServerFacts servers;
  ShimFacts shim;
  CgroupFacts cgroups;
};

// Takes a second or two; with `python` several more.
[[nodiscard]] DoctorFacts gather_doctor_facts(bool python);

// The value of "RmProfilingAdminOnly: 1" in the parameters of the driver.
[[nodiscard]] std::optional<bool> parse_admin_only(std::string_view params);

}  // namespace carpool::app
