// Settings of the library from the environment, which gpu/cupti/injection.hpp sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace carpool::gpu::inject {

struct Settings {
  std::string folder;
  bool activity = true;
  bool counters = false;
  bool probe = false;
  unsigned flush_ms = 200;
  std::uint64_t max_launches = 5'000'000;
  std::string cupti_library;
};

// Nothing without CARPOOL_PROFILE_DIR: the library is then inactive.
[[nodiscard]] std::optional<Settings> settings_from_environment();

// Of a job that the server watches. Nothing without CARPOOL_WINDOW_FILE, and in a program that is
// profiled.
struct Watched {
  std::string file;
  std::string cupti_library;
  bool detach = true;  // CUPTI, after a window with kernels
};
[[nodiscard]] std::optional<Watched> watched_from_environment();

// The name of the NVTX ranges to record, "*" for all; empty: none.
[[nodiscard]] std::string nvtx_range_from_environment();

}  // namespace carpool::gpu::inject
