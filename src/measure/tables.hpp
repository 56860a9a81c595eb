// The dataset folder that a journal amounts to (docs/datasets.md): profiles.csv, one CSV file a
// table of groups, exclusive_mps.csv, dataset.toml; besides them cells.csv (one row a member of
// every window, with latencies, power and activity) and failures.csv.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/journal.hpp"
#include "measure/plan.hpp"

namespace carpool::measure {

// File names and contents.
[[nodiscard]] std::map<std::string, std::string> make_tables(const JournalContent& journal,
                                                             const Plan& plan);

[[nodiscard]] Result<void> write_tables(const std::filesystem::path& folder,
                                        const JournalContent& journal,
                                        const Plan& plan);

}  // namespace carpool::measure
