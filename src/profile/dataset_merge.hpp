// Profiles as columns of a dataset folder, so that models can use what was profiled.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::profile {

struct DatasetTexts {
  std::string profiles_csv;
  std::string dataset_toml;        // empty: there is none
  std::vector<std::string> added;  // columns that were not there
  std::size_t filled = 0;          // cells
};

// The two files with the profiles' metrics filled in. A cell that has a value keeps it unless
// `replace`. Every profile must be one of a workload of the table. `files` name them in errors.
[[nodiscard]] Result<DatasetTexts> with_profiles(const DatasetTexts& before,
                                                 std::span<const WorkloadProfile> profiles,
                                                 const std::filesystem::path& folder,
                                                 bool replace);

// The same of a folder's files; each is written whole or not at all.
[[nodiscard]] Result<DatasetTexts> add_to_dataset(std::span<const WorkloadProfile> profiles,
                                                  const std::filesystem::path& folder,
                                                  bool replace);

}  // namespace carpool::profile
