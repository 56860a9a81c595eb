// Adds profiles to a dataset folder as columns, so that models can use them.
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
  std::vector<std::string> added;  // new columns
  std::size_t filled = 0;          // cells
};

// The two files with the metrics of the profiles filled in. A cell that has a value keeps it unless
// `replace`. Each profile must belong to a workload of the table. `folder` is named in errors.
[[nodiscard]] Result<DatasetTexts> with_profiles(const DatasetTexts& before,
                                                 std::span<const WorkloadProfile> profiles,
                                                 const std::filesystem::path& folder,
                                                 bool replace);

// The same for the files of a folder; each is written atomically.
[[nodiscard]] Result<DatasetTexts> add_to_dataset(std::span<const WorkloadProfile> profiles,
                                                  const std::filesystem::path& folder,
                                                  bool replace);

}  // namespace carpool::profile
