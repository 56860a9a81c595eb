// One MPS control daemon of ours for one GPU, with its own pipe and log folder, as an ordinary
// user. A daemon that somebody else started is never spoken to.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"

namespace carpool::gpu {

// What the installed control program understands, found by asking it.
struct MpsAbilities {
  std::filesystem::path program;  // nvidia-cuda-mps-control
  std::string version;            // of CUDA, "13.0", where it says so; else empty
  bool terminate_client = false;
  bool client_priority = false;
  bool pinned_memory_limit = false;
  bool sm_partitions = false;  // CUDA 13.1 and later
};

// Unsupported, with what to install, where there is no such program.
[[nodiscard]] Result<MpsAbilities> probe_mps();

struct MpsServer {
  pid_t pid = 0;
  bool faulted = false;  // a client's fault; accepts nobody until all its clients are gone
};

struct MpsClient {
  pid_t server = 0;
  pid_t pid = 0;
};

// Limits of one client, fixed when it starts.
struct MpsClientLimits {
  std::optional<double> thread_percentage;           // (0, 100]
  bool low_priority = false;                         // CUDA_MPS_CLIENT_PRIORITY=1
  std::optional<std::uint64_t> pinned_memory_bytes;  // device memory it may take
};

// Used by one thread at a time. Its end stops the daemon, after its clients.
class MpsDaemon {
 public:
  // `folder` becomes the place of pipe and logs: made with mode 0700, refused when it is not ours
  // or when its path is too long for a socket (100 bytes) or when a daemon already answers there.
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> start(
      const std::string& gpu_uuid, const std::filesystem::path& folder);

  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  ~MpsDaemon();

  // What a client's environment needs to run under this daemon; an empty value removes the
  // variable, so that no limit of our own environment slips in.
  [[nodiscard]] std::map<std::string, std::string> client_environment(
      const MpsClientLimits& limits) const;

  [[nodiscard]] Result<std::vector<MpsServer>> servers();
  [[nodiscard]] Result<std::vector<MpsClient>> clients();

  // Drains and ends one client's GPU work; killing it without is undefined for the others.
  [[nodiscard]] Result<void> terminate_client(const MpsClient& client);

  // Stops the daemon and removes its folder; asking twice is fine. Clients still there are the
  // caller's fault and are named in the error; after `grace` the daemon is killed all the same. The
  // logs stay when it does not end as it should.
  [[nodiscard]] Result<void> stop(std::chrono::milliseconds grace);

  [[nodiscard]] bool alive();
  [[nodiscard]] const std::filesystem::path& pipe_folder() const;
  [[nodiscard]] const std::filesystem::path& log_folder() const;

 private:
  struct State;
  explicit MpsDaemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Ends every daemon in a sub-folder of `root` whose owner died without stopping it, and removes
// these folders, which are returned. Folders of living owners and of others are left alone.
[[nodiscard]] Result<std::vector<std::filesystem::path>> sweep_dead_daemons(
    const std::filesystem::path& root);

}  // namespace carpool::gpu
