// What `carpool doctor` looks at, as found on this machine. No judgement here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::app {

struct DeviceFile {
  std::filesystem::path path;
  bool usable = false;  // this user may read and write it
};

// An MPS daemon where the driver puts one by default.
struct ForeignMps {
  std::filesystem::path folder;
  std::optional<std::int64_t> pid;  // as its file says, where we may read it
};

struct PythonFacts {
  bool found = false;
  std::string torch;  // "2.11.0+cu130, CUDA usable"; empty: not installed
  std::string said;   // the last line that it printed instead
};

struct DoctorFacts {
  std::size_t pci_gpus = 0;                           // NVIDIA's on the bus, driver or not
  std::optional<std::filesystem::path> nvml_library;  // where the loader finds it
  std::string nvml_problem;                           // why it cannot be used; empty: it can
  std::vector<GpuInfo> gpus;
  std::vector<DeviceFile> device_files;                  // of GPUs and their control
  Result<gpu::MpsAbilities> mps = gpu::MpsAbilities{};   // the control program
  std::optional<ForeignMps> foreign_mps;                 // not ours
  std::optional<std::filesystem::path> cupti;            // found by the loader
  std::optional<std::filesystem::path> cupti_elsewhere;  // only in CUDA's own folder
  std::optional<std::filesystem::path> ncu;
  std::optional<bool> counters_for_admin_only;  // nothing: the driver does not say
  bool admin = false;
  std::optional<PythonFacts> python;  // nothing: was not asked for
  std::uint64_t open_files = 0;       // limits of this process
  std::uint64_t locked_bytes = 0;
  std::filesystem::path runtime_folder;  // where pipes and logs go
  std::optional<std::uint64_t> runtime_free_bytes;
};

// Takes a second or two; the look at Python several more.
[[nodiscard]] DoctorFacts gather_doctor_facts(bool python);

// "RmProfilingAdminOnly: 1" in the driver's list of parameters.
[[nodiscard]] std::optional<bool> parse_admin_only(std::string_view params);

}  // namespace carpool::app
