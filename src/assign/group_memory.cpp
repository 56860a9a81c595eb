#include "assign/group_memory.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace carpool::assign {

std::optional<double> memory_gib(const Profile& profile) {
  const auto found = profile.metrics.find(kMemoryMetric);
  if (found == profile.metrics.end() || !std::isfinite(found->second)) {
    return std::nullopt;
  }
  return found->second;
}

MemoryUse memory_use(std::span<const Profile> profiles, std::span<const std::size_t> members) {
  MemoryUse use;
  for (const std::size_t member : members) {
    if (const auto gib = memory_gib(profiles[member])) {
      use.known_gib += *gib;
    } else {
      use.unknown.push_back(member);
    }
  }
  return use;
}

Result<void> check_capacity(std::optional<double> capacity_gib) {
  if (capacity_gib && !(*capacity_gib > 0.0 && std::isfinite(*capacity_gib))) {
    return invalid_input(fmt::format("GPU memory {} GiB: must be above 0", *capacity_gib));
  }
  return {};
}

std::string describe_memory(std::span<const Profile> profiles,
                            const MemoryUse& use,
                            double capacity_gib) {
  std::string text = fmt::format("memory {:.1f} of {:g} GiB", use.known_gib, capacity_gib);
  if (!use.unknown.empty()) {
    std::vector<std::string_view> names(use.unknown.size());
    std::ranges::transform(use.unknown, names.begin(), [&](std::size_t profile) {
      return std::string_view(profiles[profile].workload);
    });
    text += fmt::format(" without {}, whose memory is unknown", fmt::join(names, ", "));
  }
  return text;
}

}  // namespace carpool::assign
