// Ends MPS daemons that have neither a keeper nor a user.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace carpool::run {

// A daemon's folder is "GPU-UID" in the folder of all daemons; its lock is in "locks".
struct MpsPlaceName {
  unsigned gpu = 0;
  uid_t uid = 0;
};
[[nodiscard]] std::string write_place_name(const MpsPlaceName& name);
[[nodiscard]] std::optional<MpsPlaceName> read_place_name(std::string_view text);

[[nodiscard]] std::filesystem::path mps_lock_folder(const std::filesystem::path& mps);
// Locked by each supervisor that needs the daemon.
[[nodiscard]] std::filesystem::path mps_users_file(const std::filesystem::path& mps,
                                                   const std::string& place);

// Goes to the background and looks at each daemon in `mps`: one whose keeper is dead and that no
// supervisor uses is stopped, with the rights of its user. Returns the exit code.
[[nodiscard]] int sweep_mps(const std::filesystem::path& mps);

}  // namespace carpool::run
