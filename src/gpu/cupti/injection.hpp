// How libcarpool_profile.so comes into a program: the driver loads the library that
// CUDA_INJECTION64_PATH names, and NVTX the one of NVTX_INJECTION64_PATH. The program is not
// changed.
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
  // Ranges of this name are recorded; empty: no ranges; "*": all of them.
  std::string nvtx_range;
  std::chrono::milliseconds flush_period{200};
  std::uint64_t max_launches = 5'000'000;  // launches and copies of one process; then it stops
  std::filesystem::path cupti_library;     // empty: found as docs/profiling-internals.md says
};

// What to add to the environment of the program, as Command::environment (base/child_process.hpp)
// takes it. The folder must exist; every process of the program writes a file of its own there.
[[nodiscard]] std::map<std::string, std::string> injection_environment(
    const std::filesystem::path& library,
    const std::filesystem::path& folder,
    const InjectionOptions& options);

// The library that belongs to this program: ../lib/libcarpool_profile.so from where its file lies,
// in the build tree as in a bundle. NotFound, with the place, when it is not there.
[[nodiscard]] Result<std::filesystem::path> find_profile_library();

}  // namespace carpool::gpu
