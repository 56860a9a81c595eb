#include "gpu/cupti/injection.hpp"

#include <system_error>

#include <fmt/format.h>

#include "gpu/cupti/window_format.hpp"

namespace carpool::gpu {

std::map<std::string, std::string> injection_environment(const std::filesystem::path& library,
                                                         const std::filesystem::path& folder,
                                                         const InjectionOptions& options) {
  const auto flag = [](bool on) { return std::string(on ? "1" : "0"); };
  std::map<std::string, std::string> environment{
      {"CUDA_INJECTION64_PATH", library.string()},
      {"CARPOOL_PROFILE_DIR", folder.string()},
      {"CARPOOL_PROFILE_ACTIVITY", flag(options.activity)},
      {"CARPOOL_PROFILE_COUNTERS", flag(options.counters)},
      {"CARPOOL_PROFILE_PROBE", flag(options.probe)},
      {"CARPOOL_PROFILE_FLUSH_MS", fmt::to_string(options.flush_period.count())},
      {"CARPOOL_PROFILE_MAX_LAUNCHES", fmt::to_string(options.max_launches)},
  };
  if (!options.nvtx_range.empty()) {
    environment["NVTX_INJECTION64_PATH"] = library.string();
    environment["CARPOOL_PROFILE_NVTX"] = options.nvtx_range;
  }
  if (!options.cupti_library.empty()) {
    environment["CARPOOL_CUPTI_LIBRARY"] = options.cupti_library.string();
  }
  return environment;
}

std::map<std::string, std::string> window_environment(
    const std::filesystem::path& library,
    const std::filesystem::path& file,
    const std::map<std::string, std::string>& of_job) {
  if (of_job.contains("CUDA_INJECTION64_PATH") || of_job.contains("NVTX_INJECTION64_PATH")) {
    return {};
  }
  return {{"CUDA_INJECTION64_PATH", library.string()}, {window_format::kVariable, file.string()}};
}

Result<std::filesystem::path> find_profile_library() {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) {
    return fail(ErrorCode::Internal,
                fmt::format("cannot find the path of this program (/proc/self/exe): {}",
                            problem.message()));
  }
  std::filesystem::path library =
      program.parent_path().parent_path() / "lib" / "carpool" / "libcarpool_profile.so";
  if (!std::filesystem::is_regular_file(library, problem)) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("the profiler library {} is missing: build it (./start --build-only), or "
                    "copy the folders bin and lib of the bundle together",
                    library.string()));
  }
  return library;
}

}  // namespace carpool::gpu
