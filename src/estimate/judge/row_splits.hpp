// Train/test splits of measured jobs.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "estimate/judge/rows.hpp"

namespace carpool::estimate {

// Indexes of rows.
struct RowFold {
  std::vector<std::size_t> train{};
  std::vector<std::size_t> calibration{};
  std::vector<std::size_t> test{};
};

struct RowSplitKind {
  std::string_view name;
  std::string_view description;
  std::vector<RowFold> (*split)(const std::vector<MeasuredJob>&);
};

[[nodiscard]] std::span<const RowSplitKind> row_split_kinds();
[[nodiscard]] Result<const RowSplitKind*> find_row_split(std::string_view name);

}  // namespace carpool::estimate
