// The folder of one MPS daemon: pipe/ and log/ for the driver, and carpool-owner, which names the
// process that started the daemon, so that left-over folders can be recognised.
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
  // Does not touch the disk. InvalidInput if the path of a socket in it would be too long.
  [[nodiscard]] static Result<MpsFolder> at(const std::filesystem::path& root);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path pipe() const { return root_ / "pipe"; }
  [[nodiscard]] std::filesystem::path log() const { return root_ / "log"; }

  // Makes it with mode 0700 unless it exists and passes check().
  [[nodiscard]] Result<void> make() const;

  // InvalidInput if it is not a folder, belongs to another user, or holds other files.
  [[nodiscard]] Result<void> check() const;

  // Excludes other processes from the folder until the descriptor is closed. Conflict if the folder
  // was removed meanwhile.
  [[nodiscard]] Result<Descriptor> lock() const;

  // The process that started the daemon; nothing without an owner file, InvalidInput if that is
  // malformed.
  [[nodiscard]] Result<std::optional<ProcessIdentity>> owner() const;

  // Names this process as the owner and makes pipe/ and log/.
  [[nodiscard]] Result<void> claim() const;

  // The process that the daemon's pid file names; it may have ended.
  [[nodiscard]] std::optional<pid_t> daemon_pid() const;

  // Removes pipe, owner file and, if asked, logs.
  enum class Logs { Remove, Keep };
  void empty(Logs logs) const;

  // Empties it, and removes it if nothing else is in it.
  void remove(Logs logs) const;

 private:
  explicit MpsFolder(std::filesystem::path root) : root_(std::move(root)) {}
  std::filesystem::path root_;
};

// Parses the owner file, "PID START".
[[nodiscard]] std::optional<ProcessIdentity> parse_owner(std::string_view content);

}  // namespace carpool::gpu
