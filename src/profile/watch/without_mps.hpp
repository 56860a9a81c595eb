// What a program is started with that is to have a GPU without MPS.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace carpool::profile {

// It sees this GPU alone and finds no MPS daemon, whoever runs one; `nowhere` must not exist.
[[nodiscard]] inline std::map<std::string, std::string> environment_without_mps(
    const std::string& gpu_uuid, const std::filesystem::path& nowhere) {
  return {{"CUDA_VISIBLE_DEVICES", gpu_uuid}, {"CUDA_MPS_PIPE_DIRECTORY", nowhere.string()}};
}

}  // namespace carpool::profile
