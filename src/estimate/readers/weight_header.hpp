// The header of a safetensors file, or the index of one in several parts: number and types of the
// parameters of a model. The weights are not read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

struct WeightTotals {
  std::int64_t parameters = 0;  // elements of all tensors
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  std::map<std::string, std::int64_t, std::less<>> by_type{};  // "BF16": elements
};

[[nodiscard]] Result<WeightTotals> parse_safetensors(std::string_view file, std::string_view name);

// NAME.safetensors, or NAME.safetensors.index.json with its parts in the same folder.
[[nodiscard]] Result<WeightTotals> read_weight_totals(const std::filesystem::path& path);

// Adds the parameters that the configuration does not account for, and a note with both numbers.
void take_weights(const WeightTotals& totals, ReadModel& read);

}  // namespace carpool::estimate
