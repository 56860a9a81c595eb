// The part of a GPU that one `carpool run` has: its job in the shared state, the lock of the GPU,
// which the runs of a user hold together, and their MPS daemon.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/shared_mps.hpp"
#include "app/server/gpu_lock.hpp"
#include "base/result.hpp"
#include "core/gpu.hpp"
#include "interpose/state/client.hpp"

namespace carpool::app {

enum class MpsWish { Auto, On, Off };

struct ShareRequest {
  GpuInfo gpu;
  std::optional<std::uint64_t> limit_bytes{};
  std::optional<std::uint64_t> guarantee_bytes{};
  std::vector<GpuProcess> processes{};  // that use the GPU already
  MpsWish mps = MpsWish::Auto;
};

class GpuShare {
 public:
  // Conflict if a server manages the GPU, or if the guarantee cannot be given.
  [[nodiscard]] static Result<std::unique_ptr<GpuShare>> take(const ShareRequest& request);

  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;
  ~GpuShare();  // gives it back

  [[nodiscard]] std::uint64_t job() const { return job_; }
  [[nodiscard]] const std::filesystem::path& state_folder() const { return state_folder_; }
  // Which GPU the program sees, and how it finds the MPS daemon.
  [[nodiscard]] const std::map<std::string, std::string>& environment() const {
    return environment_;
  }

  // One of the runs of a user has the lock.
  [[nodiscard]] bool has_lock() const { return lock_.has_value(); }
  [[nodiscard]] bool has_mps() const { return mps_.has_value(); }

  // To be called every second or so: takes the lock when the run that held it has ended.
  void keep();

 private:
  GpuShare() = default;
  [[nodiscard]] Result<void> enter_state(const ShareRequest& request);
  [[nodiscard]] Result<void> lock_gpu();
  [[nodiscard]] Result<void> use_mps(const ShareRequest& request);
  [[nodiscard]] bool run_is(pid_t pid) const;
  [[nodiscard]] bool others_remain() const;

  GpuInfo gpu_;
  std::uint64_t job_ = 0;
  std::filesystem::path state_folder_;
  interpose::Client slot_;
  std::optional<GpuLocks> lock_;
  std::optional<SharedMps> mps_;
  std::map<std::string, std::string> environment_;
};

}  // namespace carpool::app
