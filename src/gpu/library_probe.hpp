// Whether the loader finds a vendor's library, without a use of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace carpool::gpu {

// Where the first of these names that can be loaded lies. Loads it for a moment.
[[nodiscard]] std::optional<std::filesystem::path> find_library(
    const std::vector<std::string>& names);

}  // namespace carpool::gpu
