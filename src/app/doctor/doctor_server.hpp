// What `carpool doctor` finds out about the servers of this machine, and how it judges that.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/gpu.hpp"

namespace carpool::app {

struct DoctorCheck;

// A GPU, or MIG instance, that a server manages.
struct ManagedGpu {
  std::string uuid{};
  std::string holder{};  // "the server of user alice (process 12: carpool serve)"
  bool usable = false;   // this user can submit jobs to that server
};

// A file or folder of a server with more permissions than it should have.
struct LoosePath {
  std::filesystem::path path{};
  mode_t mode = 0;
  mode_t most = 0;
};

struct ServerFacts {
  std::vector<ManagedGpu> managed{};
  std::filesystem::path socket{};  // that commands use
  bool socket_exists = false;
  std::string no_access{};                      // why this user may not connect; empty: may
  std::vector<std::filesystem::path> states{};  // folders of queues that this user can look at
  std::vector<LoosePath> loose{};
};

[[nodiscard]] ServerFacts look_at_servers(const std::vector<GpuInfo>& gpus);
[[nodiscard]] std::vector<DoctorCheck> doctor_server_checks(const ServerFacts& facts);

// Paths of a queue's folder that other users could read or change.
[[nodiscard]] std::vector<LoosePath> loose_paths(const std::filesystem::path& state);

}  // namespace carpool::app
