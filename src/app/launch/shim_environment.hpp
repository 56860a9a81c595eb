// The environment of a program that runs with the library in front of the driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool::app {

// How a run calls its own slot of the shared state, which programs of users do not.
inline constexpr std::string_view kRunSlotName = "carpool run";
// Numbers of jobs of `carpool run` begin here, above those that servers give.
inline constexpr std::uint64_t kFirstRunJob = std::uint64_t{1} << 40U;

// The library that NVTX calls when the program marks ranges.
inline constexpr const char* kNvtxToolVariable = "NVTX_INJECTION64_PATH";
// How many queues the driver has for the streams of the program.
inline constexpr const char* kConnectionsVariable = "CUDA_DEVICE_MAX_CONNECTIONS";

// lib/carpool/libcarpool_cuda.so beside the folder of this program.
[[nodiscard]] Result<std::filesystem::path> find_shim_library();

// The driver that programs use without the library. It is looked up in a child process: to be
// called before this program has threads.
[[nodiscard]] Result<std::string> find_driver(const std::filesystem::path& library);

// What the program promises, or gives way to (docs/gate.md).
struct GateSettings {
  JobClass job_class = JobClass::Normal;  // of which only best-effort ones wait for others
  std::optional<double> slo_ms{};         // Slo
  std::optional<double> quantile{};       // Slo
  std::string policy{};                   // BestEffort; empty: the default
  bool mps = false;                       // the program is a client of MPS
};

struct ShimSettings {
  std::filesystem::path library;
  std::string real_libcuda;
  std::filesystem::path state_folder;
  std::string name;
  std::uint64_t job = 0;
  GateSettings gate{};
  std::optional<std::uint64_t> limit_bytes{};
  std::optional<std::uint64_t> guarantee_bytes{};
};

// The variables of the gate, which programs in containers get too. An empty value: the variable is
// removed.
[[nodiscard]] std::map<std::string, std::string> gate_environment(const GateSettings& gate);

// What the program would have without the library.
struct OwnVariables {
  std::string preload{};       // LD_PRELOAD
  std::string library_path{};  // LD_LIBRARY_PATH
  std::string nvtx_tool{};     // kNvtxToolVariable: a tool of the user goes before ours
  std::string connections{};   // kConnectionsVariable
};

// An empty value: the variable is removed.
[[nodiscard]] std::map<std::string, std::string> shim_environment(const ShimSettings& settings,
                                                                  const OwnVariables& own);

}  // namespace carpool::app
