// The folder of one MPS daemon of ours: pipe/ and log/ for the driver, and carpool-owner, which
// names the process that started the daemon and lets the next one tell a leftover from a neighbour.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::gpu {

class MpsFolder {
 public:
  // Only names it. InvalidInput when a socket in it would have too long a path.
  [[nodiscard]] static Result<MpsFolder> at(const std::filesystem::path& root);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path pipe() const { return root_ / "pipe"; }
  [[nodiscard]] std::filesystem::path log() const { return root_ / "log"; }

  // Makes it, mode 0700, unless it is there and ours.
  [[nodiscard]] Result<void> make() const;

  // InvalidInput when it is not a folder, another user's, or holds what we never put there.
  [[nodiscard]] Result<void> check() const;

  // Nobody else takes, sweeps or clears the folder until the descriptor is gone.
  [[nodiscard]] Result<Descriptor> lock() const;

  // Who started the daemon here. Nothing when nobody says so; InvalidInput when the file is not one
  // of ours.
  [[nodiscard]] Result<std::optional<ProcessIdentity>> owner() const;

  // Names this process as the owner and makes pipe/ and log/.
  [[nodiscard]] Result<void> claim() const;

  // The process that the daemon's pid file names, whether or not there is such a process.
  [[nodiscard]] std::optional<pid_t> daemon_pid() const;

  // Removes what is ours in it.
  enum class Logs { Remove, Keep };
  void empty(Logs logs) const;

  // Empties it and removes it when nothing else is there.
  void remove(Logs logs) const;

 private:
  explicit MpsFolder(std::filesystem::path root) : root_(std::move(root)) {}
  std::filesystem::path root_;
};

// "PID START", as the owner file holds it.
[[nodiscard]] std::optional<ProcessIdentity> parse_owner(std::string_view content);

}  // namespace carpool::gpu
