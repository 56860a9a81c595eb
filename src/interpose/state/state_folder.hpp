// Where the state files of a user lie.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <sys/types.h>

namespace carpool::interpose {

inline constexpr std::size_t kMostPath = 4096;
using PathBuffer = std::array<char, kMostPath>;
using StateFileName = std::array<char, 96>;

// CARPOOL_STATE_DIR, which the server and `carpool run` set; else $XDG_RUNTIME_DIR/carpool/state
// or, where that cannot be written, carpool-UID/state in $TMPDIR or /tmp. False if the path is too
// long.
[[nodiscard]] bool default_state_folder(PathBuffer& path);

// The given folder, or the default one if it is empty.
[[nodiscard]] bool state_folder(std::string_view given, PathBuffer& path);

// UUID.state, the file of a GPU ("GPU-…") in the folder. False if that is not the UUID of a GPU.
[[nodiscard]] bool state_file_name(std::string_view gpu_uuid, StateFileName& name);

// Makes the folder (0700, for `owner`) and the one above it; what exists stays as it is.
void make_state_folder(PathBuffer& path, uid_t owner);

}  // namespace carpool::interpose
