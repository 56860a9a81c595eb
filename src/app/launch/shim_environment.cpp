#include "app/launch/shim_environment.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "interpose/launch/real_libcuda.hpp"

namespace carpool::app {
namespace {

std::string in_front(const std::string& path, const std::string& others) {
  return others.empty() ? path : fmt::format("{}:{}", path, others);
}

std::string number_text(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "";
}

}  // namespace

Result<std::filesystem::path> find_shim_library() {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  std::filesystem::path library =
      program.parent_path().parent_path() / "lib" / "carpool" / "libcarpool_cuda.so";
  if (problem || !std::filesystem::is_regular_file(library, problem)) {
    return not_found(
        fmt::format("the library {} is missing: build it (./start --build-only), or copy the "
                    "folders bin and lib of the bundle together",
                    library.string()));
  }
  return library;
}

std::optional<std::string> find_driver(const std::filesystem::path& library) {
  const char* const preload = std::getenv("LD_PRELOAD");
  const char* const known = std::getenv("CARPOOL_REAL_LIBCUDA");
  // In a program that runs with the library, the loader would name the library.
  if (preload != nullptr && known != nullptr &&
      std::string_view(preload).find(library.filename().string()) != std::string_view::npos) {
    return known;
  }
  return interpose::find_real_libcuda();
}

std::map<std::string, std::string> shim_environment(const ShimSettings& settings,
                                                    const std::string& preload,
                                                    const std::string& library_path) {
  // Some programs open "libcuda.so"; this folder has the library by that name.
  const std::filesystem::path by_name = settings.library.parent_path() / "cuda";
  return {{"LD_PRELOAD", in_front(settings.library.string(), preload)},
          {"LD_LIBRARY_PATH", in_front(by_name.string(), library_path)},
          {"CARPOOL_REAL_LIBCUDA", settings.real_libcuda},
          {"CARPOOL_STATE_DIR", settings.state_folder.string()},
          {"CARPOOL_SHIM_NAME", settings.name},
          {"CARPOOL_SHIM_JOB", std::to_string(settings.job)},
          {"CARPOOL_SHIM_LIMIT", number_text(settings.limit_bytes)},
          {"CARPOOL_SHIM_GUARANTEE", number_text(settings.guarantee_bytes)}};
}

}  // namespace carpool::app
