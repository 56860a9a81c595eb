// Copies of a journal. They may be made while a server uses it.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace carpool::store {

// Writes jobs.sqlite.backup anew, as a whole or not at all, and keeps the one before it as
// jobs.sqlite.backup.1. False: it holds every event already.
[[nodiscard]] Result<bool> back_up(const std::filesystem::path& state);

// A copy in a new file of mode 0600.
[[nodiscard]] Result<void> back_up_to(const std::filesystem::path& state,
                                      const std::filesystem::path& file);

}  // namespace carpool::store
