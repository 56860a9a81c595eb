// Finds a vendor's library without using it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace carpool::gpu {

// The path of the first of these names that the loader can load. Loads it briefly.
[[nodiscard]] std::optional<std::filesystem::path> find_library(
    const std::vector<std::string>& names);

}  // namespace carpool::gpu
