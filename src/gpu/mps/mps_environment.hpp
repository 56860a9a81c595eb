// The variables through which NVIDIA's driver finds an MPS daemon and limits its clients.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "gpu/mps/mps_daemon.hpp"

namespace carpool::gpu {

// For the daemon, and for speaking with it: the folders, and none of the limits that our caller may
// have in its environment. An empty value removes the variable, as in Command::environment.
[[nodiscard]] std::map<std::string, std::string> mps_environment(const std::filesystem::path& pipe,
                                                                 const std::filesystem::path& log);

// For a client with these limits on the daemon's GPU.
[[nodiscard]] std::map<std::string, std::string> mps_client_environment(
    const std::filesystem::path& pipe,
    const std::filesystem::path& log,
    const std::string& gpu_uuid,
    const MpsClientLimits& limits);

}  // namespace carpool::gpu
