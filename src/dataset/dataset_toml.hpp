// dataset.toml: the description of a folder. Internal to dataset/.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"

namespace carpool::dataset {

struct DeclaredMetric {
  MetricInfo metric;
  std::size_t line = 0;  // of dataset.toml
};

struct DatasetSettings {
  std::string file;  // as errors name it
  DatasetInfo info;
  // Empty: not declared; the columns of profiles.csv decide.
  std::optional<std::vector<DeclaredMetric>> metrics;
};

// The default: a percentage is averaged, any other metric is summed.
[[nodiscard]] Combine default_combine(std::string_view metric);

[[nodiscard]] Result<DatasetSettings> parse_dataset_toml(std::string_view text,
                                                         const std::string& file);

}  // namespace carpool::dataset
