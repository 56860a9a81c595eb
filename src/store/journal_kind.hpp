// Whose jobs a state folder holds: those of a server that runs them, or of one that simulates them.
// The file `simulated` marks the latter. A server of the other kind would end jobs that never ran,
// or run jobs that were only tried.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace carpool::store {

// Marks a new folder. Conflict where it belongs to a server of the other kind. The lock of the
// folder is held.
[[nodiscard]] Result<void> claim_folder(const std::filesystem::path& state, bool simulated);

}  // namespace carpool::store
