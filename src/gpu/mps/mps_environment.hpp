// Environment variables by which NVIDIA's driver finds an MPS daemon and limits its clients.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "gpu/mps/mps_daemon.hpp"

namespace carpool::gpu {

// For the daemon and the control program: the folders, without limits from Carpool's own
// environment. An empty value removes the variable, as in Command::environment.
[[nodiscard]] std::map<std::string, std::string> mps_environment(const std::filesystem::path& pipe,
                                                                 const std::filesystem::path& log);

// For a client with these limits on the daemon's GPU.
[[nodiscard]] std::map<std::string, std::string> mps_client_environment(
    const std::filesystem::path& pipe,
    const std::filesystem::path& log,
    const std::string& gpu_uuid,
    const MpsClientLimits& limits);

// For a program without MPS: it sees only this GPU and finds no daemon. `nowhere` must not exist.
[[nodiscard]] std::map<std::string, std::string> environment_without_mps(
    const std::string& gpu_uuid, const std::filesystem::path& nowhere);

}  // namespace carpool::gpu
