// An MPS control daemon that Carpool starts for one GPU, with its own pipe and log folder, as an
// ordinary user. Daemons of others are never contacted.
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

class MpsControl;
struct ProcessIdentity;

// Features of the installed control program, from its help text.
struct MpsAbilities {
  std::filesystem::path program;  // nvidia-cuda-mps-control
  std::string version;            // of CUDA, "13.0"; empty if unknown
  bool terminate_client = false;
  bool client_priority = false;
  bool pinned_memory_limit = false;
  bool sm_partitions = false;  // CUDA 13.1 and later
};

// Unsupported, with the package to install, if there is no such program.
[[nodiscard]] Result<MpsAbilities> probe_mps();

struct MpsServer {
  pid_t pid = 0;
  bool faulted = false;  // after a client's fault; accepts no client until all have ended
};

struct MpsClient {
  pid_t server = 0;
  pid_t pid = 0;
};

// Limits of one client, fixed when it starts.
struct MpsClientLimits {
  std::optional<double> thread_percentage;           // (0, 100]
  bool low_priority = false;                         // CUDA_MPS_CLIENT_PRIORITY=1
  std::optional<std::uint64_t> pinned_memory_bytes;  // limit of device memory
};

// Used by one thread at a time. The destructor stops the daemon; its clients must have ended.
class MpsDaemon {
 public:
  // `folder` holds pipe and logs and is made with mode 0700. Fails if it belongs to another user,
  // if its path is too long for a socket (100 bytes), or if a daemon already answers there.
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> start(
      const std::string& gpu_uuid, const std::filesystem::path& folder);

  // Takes over the daemon for this GPU that a dead owner left in `folder`; its clients go on.
  // NotFound if there is none that answers.
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> adopt(
      const std::string& gpu_uuid, const std::filesystem::path& folder);

  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  ~MpsDaemon();

  // Environment of a client of this daemon. An empty value removes the variable, so that limits in
  // Carpool's own environment do not apply.
  [[nodiscard]] std::map<std::string, std::string> client_environment(
      const MpsClientLimits& limits) const;

  [[nodiscard]] Result<std::vector<MpsServer>> servers();
  [[nodiscard]] Result<std::vector<MpsClient>> clients();

  // Drains and ends the GPU work of a client. Killing a client without this is undefined for the
  // others.
  [[nodiscard]] Result<void> terminate_client(const MpsClient& client);

  // Stops the daemon and removes its folder; idempotent. Remaining clients are an error that names
  // them. After `grace` the daemon is killed. The logs are kept if it does not end normally.
  [[nodiscard]] Result<void> stop(std::chrono::milliseconds grace);

  // The daemon runs on when this object and the process end; another process may adopt it then.
  void leave_running();

  [[nodiscard]] bool alive();
  [[nodiscard]] const std::filesystem::path& pipe_folder() const;
  [[nodiscard]] const std::filesystem::path& log_folder() const;

 private:
  struct State;
  using Obtain = Result<ProcessIdentity>(const MpsControl& control, const std::string& gpu_uuid);
  explicit MpsDaemon(std::unique_ptr<State> state);
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> obtain(
      const std::string& gpu_uuid, const std::filesystem::path& folder, Obtain* daemon_in);
  std::unique_ptr<State> state_;
};

// Ends the daemon in `folder` if its owner process has died, and removes the folder; false if there
// is not such a daemon.
[[nodiscard]] Result<bool> sweep_dead_daemon(const std::filesystem::path& folder);

// Ends the daemons in sub-folders of `root` whose owner process has died, and removes and returns
// these folders. Folders of running owners and of other users are not touched.
[[nodiscard]] Result<std::vector<std::filesystem::path>> sweep_dead_daemons(
    const std::filesystem::path& root);

}  // namespace carpool::gpu
