// One MPS daemon for the programs that `carpool run` starts on a GPU. The first of them starts it,
// and the last one that ends stops it; if its starter ends earlier, another one adopts it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::app {

// Excludes other `carpool run` of this user on the GPU while it starts or ends.
[[nodiscard]] Result<Descriptor> lock_launches(const std::string& gpu_uuid);

// Called under lock_launches(), one after the other.
class SharedMps {
 public:
  // Unsupported if this machine has no MPS.
  [[nodiscard]] static Result<SharedMps> join(const std::string& gpu_uuid);

  [[nodiscard]] const std::map<std::string, std::string>& environment() const {
    return environment_;
  }

  // Stops the daemon if this was its last user.
  [[nodiscard]] Result<void> leave(bool others_remain);

 private:
  std::string gpu_uuid_;
  std::filesystem::path folder_;
  std::unique_ptr<gpu::MpsDaemon> daemon_;  // null: another process owns it
  std::map<std::string, std::string> environment_;
};

}  // namespace carpool::app
