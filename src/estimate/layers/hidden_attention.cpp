#include "estimate/layers/hidden_attention.hpp"

#include <algorithm>

#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {

std::int64_t attention_parameters(std::int64_t width) {
  return times(4, times(width, width + 1));
}

bool attention_behind(std::span<const LayerLine> list, std::size_t norm, std::int64_t hidden) {
  if (norm == 0 || norm + 1 == list.size() || hidden <= 0) {
    return false;
  }
  const LayerLine& own = list[norm];
  const LayerLine& next = list[norm + 1];
  // After a norm that follows a dropout, a stochastic depth ends the feed-forward part.
  const bool drops = next.type == "Dropout" ||
                     (next.type == "StochasticDepth" && list[norm - 1].type != "Dropout");
  return own.type == "LayerNorm" && drops && next.shape == own.shape &&
         attention_parameters(own.shape.back()) <= hidden;
}

bool are_attention_weights(const LayerLine& line) {
  return (line.type == "Softmax" || line.type == "Dropout") && line.shape.size() == 4 &&
         line.shape[2] == line.shape[3];
}

std::int64_t window_weights(std::int64_t elements, std::int64_t width) {
  constexpr std::int64_t kHeadWidth = 32;
  constexpr std::int64_t kWindowTokens = 49;
  const std::int64_t heads = (width + kHeadWidth - 1) / kHeadWidth;
  return times(elements / std::max<std::int64_t>(width, 1), times(heads, kWindowTokens));
}

std::int64_t projection_parameters(std::int64_t width) {
  return times(3, times(width, width));
}

bool projections_before(std::span<const LayerLine> list, std::size_t product, std::int64_t hidden) {
  const LayerLine& own = list[product];
  if (product == 0 || own.type != "Linear" || own.shape.size() != 3) {
    return false;
  }
  const std::int64_t width = own.shape.back();
  const LayerLine& norm = list[product - 1];
  return norm.type == "LayerNorm" && norm.shape == own.shape &&
         own.parameters == times(width, width + 1) && projection_parameters(width) <= hidden;
}

}  // namespace carpool::estimate
