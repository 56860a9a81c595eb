// The file of the beliefs: JSON, versioned.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

[[nodiscard]] std::string beliefs_text(const BeliefStore& store);
[[nodiscard]] Result<void> write_beliefs(const std::filesystem::path& file,
                                         std::string_view content);

// Fills an empty store. A file that does not exist leaves it empty. A file of another GPU or driver
// counts less.
[[nodiscard]] Result<void> read_beliefs(const std::filesystem::path& file, BeliefStore& store);

}  // namespace carpool::knowledge
