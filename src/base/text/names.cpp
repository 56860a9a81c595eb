#include "base/text/names.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace carpool {
namespace {

// Longer texts are not typing errors, and the distance below costs the product of the lengths.
constexpr std::size_t kLongestName = 200;

// Levenshtein distance: insertions, deletions and replacements of single bytes.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> costs(to.size() + 1);
  std::iota(costs.begin(), costs.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = costs[0];
    costs[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = costs[j + 1];
      costs[j + 1] = std::min({replaced, diagonal + 1, costs[j] + 1});
    }
  }
  return costs.back();
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             const std::vector<std::string_view>& names) {
  if (wrong.size() > kLongestName) {
    return std::nullopt;
  }
  std::size_t best = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  std::optional<std::string_view> nearest;
  for (const std::string_view name : names) {
    if (name.size() > kLongestName) {
      continue;
    }
    if (const std::size_t distance = edit_distance(wrong, name); distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string suggestion(std::string_view wrong, const std::vector<std::string_view>& names) {
  const auto nearest = nearest_name(wrong, names);
  return nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : std::string();
}

Error unknown_name(std::string_view what,
                   std::string_view wrong,
                   const std::vector<std::string_view>& names) {
  return {ErrorCode::NotFound,
          fmt::format("unknown {} \"{}\"{}; known: {}",
                      what,
                      wrong,
                      suggestion(wrong, names),
                      fmt::join(names, ", "))};
}

}  // namespace carpool
