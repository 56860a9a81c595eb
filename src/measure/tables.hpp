// Makes the dataset folder of a journal (docs/datasets.md): profiles.csv, one CSV file per table of
// groups, exclusive_mps.csv and dataset.toml; also cells.csv (one row per member of each window,
// with latencies, power and activity) and failures.csv.
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

// File name → content.
[[nodiscard]] std::map<std::string, std::string> make_tables(const JournalContent& journal,
                                                             const Plan& plan);

[[nodiscard]] Result<void> write_tables(const std::filesystem::path& folder,
                                        const JournalContent& journal,
                                        const Plan& plan);

}  // namespace carpool::measure
