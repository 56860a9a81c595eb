// Where a user's own programs keep what lives no longer than they do: sockets, pipes, step files.
#pragma once

#include <filesystem>

namespace carpool {

// $XDG_RUNTIME_DIR/carpool or, where that cannot be written, a folder of the temporary directory
// named by the user's id. It need not exist yet.
[[nodiscard]] std::filesystem::path runtime_folder();

}  // namespace carpool
