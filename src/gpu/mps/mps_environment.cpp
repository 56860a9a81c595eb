#include "gpu/mps/mps_environment.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace carpool::gpu {

std::map<std::string, std::string> mps_environment(const std::filesystem::path& pipe,
                                                   const std::filesystem::path& log) {
  return {
      {"CUDA_MPS_PIPE_DIRECTORY", pipe.string()},
      {"CUDA_MPS_LOG_DIRECTORY", log.string()},
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", ""},
      {"CUDA_MPS_CLIENT_PRIORITY", ""},
      {"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", ""},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", ""},
      {"CUDA_MPS_PROTOCOL_VERSION", ""},  // version 3 changes the protocol of newer programs
      {"CUDA_MPS_SM_PARTITION", ""},
  };
}

std::map<std::string, std::string> mps_client_environment(const std::filesystem::path& pipe,
                                                          const std::filesystem::path& log,
                                                          const std::string& gpu_uuid,
                                                          const MpsClientLimits& limits) {
  std::map<std::string, std::string> environment = mps_environment(pipe, log);
  // Both 0 (the daemon renumbers the devices that it was given) and the UUID select the one device.
  // The UUID also means the right device in a client that finds no daemon and runs without MPS.
  environment["CUDA_VISIBLE_DEVICES"] = gpu_uuid;
  if (limits.thread_percentage) {
    environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = fmt::format("{}", *limits.thread_percentage);
  }
  if (limits.low_priority) {
    environment["CUDA_MPS_CLIENT_PRIORITY"] = fmt::format("{}", 1);
  }
  if (limits.pinned_memory_bytes) {
    // Device number of the daemon, whole MiB; 0 would remove the limit.
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] =
        fmt::format("0={}M", std::max<std::uint64_t>(1, *limits.pinned_memory_bytes / kMebibyte));
  }
  return environment;
}

std::map<std::string, std::string> environment_without_mps(const std::string& gpu_uuid,
                                                           const std::filesystem::path& nowhere) {
  return {{"CUDA_VISIBLE_DEVICES", gpu_uuid}, {"CUDA_MPS_PIPE_DIRECTORY", nowhere.string()}};
}

}  // namespace carpool::gpu
