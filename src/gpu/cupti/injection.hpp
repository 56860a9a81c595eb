// Injects libcarpool_profile.so into an unmodified program: the driver loads the library that
// CUDA_INJECTION64_PATH names, and NVTX the one of NVTX_INJECTION64_PATH.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/result.hpp"

namespace carpool::gpu {

struct InjectionOptions {
  bool activity = true;   // a record of every kernel launch and copy
  bool counters = false;  // PM sampling
  bool probe = false;     // notes on what this machine supports
  // Name of the NVTX ranges to record; empty: none; "*": all.
  std::string nvtx_range;
  std::chrono::milliseconds flush_period{200};
  std::uint64_t max_launches = 5'000'000;  // launches and copies of one process; then it stops
  std::filesystem::path cupti_library;     // empty: searched as in docs/profiling-internals.md
};

// Environment of the program, for Command::environment (base/process/child_process.hpp). The folder
// must exist; each process of the program writes one file there.
[[nodiscard]] std::map<std::string, std::string> injection_environment(
    const std::filesystem::path& library,
    const std::filesystem::path& folder,
    const InjectionOptions& options);

// Environment of a job whose launches the server counts in windows (window_file.hpp). Empty where
// the job's own environment names a library to inject: there is room for one.
[[nodiscard]] std::map<std::string, std::string> window_environment(
    const std::filesystem::path& library,
    const std::filesystem::path& file,
    const std::map<std::string, std::string>& of_job);

// The library of this program: ../lib/carpool/libcarpool_profile.so relative to its file, in the
// build tree and where it is installed. NotFound, with the expected path, if it is missing.
[[nodiscard]] Result<std::filesystem::path> find_profile_library();

}  // namespace carpool::gpu
