// One server per GPU. Two servers would each place jobs into the whole memory of the GPU.
//
// A personal server binds a name per GPU in the abstract socket namespace: the kernel gives it to
// one process, takes it back when that process ends, and tells all users who it is. The server of
// the machine writes a claim (gpu_claims.hpp) and has priority: no user can keep it from starting,
// and personal servers stop when they see its claim. docs/security.md has the reasons.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "app/server/gpu_claims.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"

namespace carpool::app {

// Who manages a GPU.
struct GpuHolder {
  bool system = false;         // the server of the machine
  std::optional<uid_t> uid{};  // absent: the process does not answer
  std::optional<pid_t> pid{};  // absent: unknown, or in another container
  std::string socket{};        // of the server of the machine
};
[[nodiscard]] std::optional<GpuHolder> gpu_holder(const std::string& uuid,
                                                  const std::filesystem::path& claims = kGpuClaims);
// "the server of this machine (process 12, socket /run/carpool/carpool.sock)"
[[nodiscard]] std::string spoken_holder(const GpuHolder& holder);

struct GpuLockSettings {
  bool system = false;  // the server of the machine
  std::filesystem::path socket{};
  std::filesystem::path claims = kGpuClaims;
};

class GpuLocks {
 public:
  // Conflict, which names the holder, where another server manages one of the GPUs.
  [[nodiscard]] static Result<GpuLocks> take(const std::vector<GpuView>& gpus,
                                             GpuLockSettings settings);

  // To be called every few seconds. Conflict: the server of the machine manages one of the GPUs
  // now, so that a personal server must stop.
  [[nodiscard]] Result<void> keep() const;

 private:
  [[nodiscard]] Result<void> try_all();
  [[nodiscard]] Result<void> claim_all();
  [[nodiscard]] Result<void> bind_all();

  struct Lock {
    unsigned index = 0;
    std::string uuid{};
    Descriptor name{};  // of a personal server
  };
  GpuLockSettings settings_;
  std::vector<Lock> locks_;
  GpuClaims claims_;
};

}  // namespace carpool::app
