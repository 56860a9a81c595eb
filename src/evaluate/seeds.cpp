#include "evaluate/seeds.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

namespace carpool::evaluate {
namespace {

constexpr std::size_t kMostSeeds = 100'000;

std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool append_range(std::vector<std::uint32_t>& seeds, std::uint32_t first, std::uint32_t last) {
  if (last < first || last - first >= kMostSeeds - seeds.size()) {
    return false;
  }
  for (std::uint32_t offset = 0; offset <= last - first; ++offset) {
    seeds.push_back(first + offset);
  }
  return true;
}

bool append_list(std::vector<std::uint32_t>& seeds, std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = to_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : to_number(part.substr(dash + 1));
    if (!first || !last || !append_range(seeds, *first, *last)) {
      return false;
    }
  }
  return !seeds.empty();
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_seeds(std::string_view text) {
  std::vector<std::uint32_t> seeds;
  const auto count = to_number(text);
  const bool understood =
      count ? *count > 0 && append_range(seeds, 0, *count - 1) : append_list(seeds, text);
  std::set<std::uint32_t> different(seeds.begin(), seeds.end());
  if (!understood || different.size() != seeds.size()) {
    return invalid_input(fmt::format(
        "seeds \"{}\": expected a range 1000-1049, a list 10,20,30 or a count 20 (seeds 0 to 19), "
        "each once, at most {} in all",
        text,
        kMostSeeds));
  }
  return seeds;
}

}  // namespace carpool::evaluate
