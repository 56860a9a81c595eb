// The folder for sockets, pipes and step files of one user: things that end with their program.
#pragma once

#include <filesystem>

namespace carpool {

// $XDG_RUNTIME_DIR/carpool or, where that cannot be written, carpool-UID in the temporary
// directory. It need not exist yet.
[[nodiscard]] std::filesystem::path runtime_folder();

}  // namespace carpool
