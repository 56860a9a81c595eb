#include "estimate/layers/cosine_windows.hpp"

#include <algorithm>

namespace carpool::estimate {
namespace {

// The shape of a bias table: one row, the offsets of two tokens of a window, heads last.
bool is_table(const LayerLine& line) {
  return line.shape.size() == 4 && line.shape[0] == 1 && line.shape[1] == line.shape[2] &&
         line.shape[1] % 2 == 1;
}

bool makes_biases(std::span<const LayerLine> list) {
  const LayerLine& norm = list[CosineWindows::kBiasLayers];
  return list[0].type == "Linear" && list[1].type == "ReLU" && list[2].type == "Linear" &&
         std::ranges::all_of(list.first(CosineWindows::kBiasLayers), is_table) &&
         norm.type == "LayerNorm" && norm.shape.size() == 4 && norm.shape[1] != list[0].shape[1];
}

std::int64_t whole_windows(std::int64_t side, std::int64_t window) {
  return (side + window - 1) / window * window;
}

}  // namespace

std::optional<CosineWindows> cosine_windows(std::span<const LayerLine> list,
                                            const NumberSizes& sizes) {
  if (list.size() <= CosineWindows::kBiasLayers || !makes_biases(list)) {
    return std::nullopt;
  }
  const std::int64_t window = (list[2].shape[1] + 1) / 2;
  const std::int64_t heads = list[2].shape[3];
  const LayerLine& norm = list[CosineWindows::kBiasLayers];
  const std::int64_t tokens =
      times(whole_windows(norm.shape[1], window), whole_windows(norm.shape[2], window));
  CosineWindows found{.width = norm.shape[3],
                      .per_sample = times(times(norm.shape[1], norm.shape[2]), norm.shape[3]),
                      .padded = times(tokens, norm.shape[3]),
                      .bias_parameters = list[0].parameters + list[2].parameters};
  const std::int64_t weights = times(times(heads, times(window, window)), tokens);
  const std::int64_t cosine_bytes = sizes.autocast ? 2 * (4 + 2) : 2 * sizes.compute;
  const std::int64_t weight_bytes = sizes.autocast ? 2 + 4 + 2 : 2 * sizes.compute;
  found.kept =
      plus(times(found.padded, cosine_bytes + sizes.compute), times(weights, weight_bytes));
  return found;
}

}  // namespace carpool::estimate
