#include "base/files/runtime_folder.hpp"

#include <cstdlib>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace carpool {

std::filesystem::path runtime_folder() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
      runtime != nullptr && *runtime == '/' && ::access(runtime, W_OK) == 0) {
    return std::filesystem::path(runtime) / "carpool";
  }
  std::error_code ignored;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(ignored);
  return (temporary.empty() ? std::filesystem::path("/tmp") : temporary) /
         fmt::format("carpool-{}", ::geteuid());
}

}  // namespace carpool
