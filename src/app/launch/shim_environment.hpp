// The environment of a program that runs with the library in front of the driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool::app {

// How a run calls its own slot of the shared state, which programs of users do not.
inline constexpr std::string_view kRunSlotName = "carpool run";
// Numbers of jobs of `carpool run` begin here, above those that servers give.
inline constexpr std::uint64_t kFirstRunJob = std::uint64_t{1} << 40U;

// lib/carpool/libcarpool_cuda.so beside the folder of this program.
[[nodiscard]] Result<std::filesystem::path> find_shim_library();

// The driver that programs use without the library. It is looked up in a child process: to be
// called before this program has threads.
[[nodiscard]] Result<std::string> find_driver(const std::filesystem::path& library);

struct ShimSettings {
  std::filesystem::path library;
  std::string real_libcuda;
  std::filesystem::path state_folder;
  std::string name;
  std::uint64_t job = 0;
  bool slo = false;  // its class
  std::optional<std::uint64_t> limit_bytes{};
  std::optional<std::uint64_t> guarantee_bytes{};
};

// `preload` and `library_path` are LD_PRELOAD and LD_LIBRARY_PATH that the program would have
// without it. An empty value: the variable is removed.
[[nodiscard]] std::map<std::string, std::string> shim_environment(const ShimSettings& settings,
                                                                  const std::string& preload,
                                                                  const std::string& library_path);

}  // namespace carpool::app
