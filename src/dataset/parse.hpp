// Parsers of the files of a dataset folder, for the loaders and the fuzz target. `file` is the name
// in error messages. Internal to dataset/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "dataset/dataset_toml.hpp"
#include "dataset/splits.hpp"

namespace carpool::dataset {

// Dataset::folder is left empty.
[[nodiscard]] Result<Dataset> parse_profiles(std::string_view text,
                                             std::string file,
                                             const DatasetSettings& settings);

[[nodiscard]] Result<GroupTable> parse_group_table(std::string_view text,
                                                   std::string file,
                                                   const Dataset& dataset,
                                                   std::string_view table_name);

// Whether a header row (text up to the first line end) is that of a group table.
[[nodiscard]] bool is_group_table_header(std::string_view line);

[[nodiscard]] Result<std::vector<LimitedRun>> parse_limited_runs(std::string_view text,
                                                                 std::string file,
                                                                 const Dataset& dataset);

[[nodiscard]] Result<std::vector<Split>> parse_splits(std::string_view text,
                                                      std::string file,
                                                      const Dataset& dataset,
                                                      const GroupTable& table,
                                                      const SplitFilter& filter);

}  // namespace carpool::dataset
