// The state folder holds the environments of jobs: only its owner may enter it.
#pragma once

#include <filesystem>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::store {

// Takes permissions of other users away: from the folder, the journal and all files beside it,
// runs/. A warning in the log for each. InvalidInput: one of them is a link, of the wrong kind, or
// belongs to another user.
[[nodiscard]] Result<void> tighten_modes(const std::filesystem::path& state);

// A new or existing regular file of mode 0600, whatever the umask; links are refused.
[[nodiscard]] Result<Descriptor> open_private(const std::filesystem::path& file);

// Makes entries that were created, renamed or removed in a folder durable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace carpool::store
