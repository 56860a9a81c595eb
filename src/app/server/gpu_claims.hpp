// Which GPUs the server of the machine manages: one file per GPU in a folder that only root can
// write and all users can read. A claim holds while the process that wrote it lives. No lock is
// visible to other users, so none can be held by them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"

namespace carpool::app {

inline constexpr const char* kGpuClaims = "/run/carpool/gpus";

struct GpuClaim {
  pid_t pid = 0;
  std::string socket{};
};

// The claim of a living server on the GPU with this UUID.
[[nodiscard]] std::optional<GpuClaim> read_claim(const std::string& uuid,
                                                 const std::filesystem::path& folder = kGpuClaims);

class GpuClaims {
 public:
  GpuClaims() = default;
  GpuClaims(GpuClaims&& other) noexcept;
  GpuClaims& operator=(GpuClaims&& other) noexcept;
  // Removes the claims.
  ~GpuClaims();

  // Claims all of the GPUs, or none: the result names one that a living server has claimed.
  struct Taken {
    std::string uuid{};
    GpuClaim claim{};
  };
  [[nodiscard]] Result<std::optional<Taken>> take(const std::vector<std::string>& uuids,
                                                  const std::filesystem::path& socket,
                                                  const std::filesystem::path& folder = kGpuClaims);

 private:
  std::vector<std::filesystem::path> files_;
};

}  // namespace carpool::app
