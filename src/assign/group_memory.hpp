// GPU memory of a group, from the memory that each member used in its solo run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/profile.hpp"

namespace carpool::assign {

// The metric of a profile that holds the GPU memory of the workload, in GiB.
inline constexpr std::string_view kMemoryMetric = "memcap_gb";

// Empty: not measured.
[[nodiscard]] std::optional<double> memory_gib(const Profile& profile);

struct MemoryUse {
  double known_gib = 0.0;
  std::vector<std::size_t> unknown;  // profiles without the metric

  // A member of unknown size counts as 0 and is named to the user.
  [[nodiscard]] bool fits(std::optional<double> capacity_gib) const {
    return !capacity_gib || known_gib <= *capacity_gib;
  }
};

// `members` are indices into `profiles`.
[[nodiscard]] MemoryUse memory_use(std::span<const Profile> profiles,
                                   std::span<const std::size_t> members);

// Not given, or above 0.
[[nodiscard]] Result<void> check_capacity(std::optional<double> capacity_gib);

// "memory 14.2 of 32 GiB"; members of unknown size are named.
[[nodiscard]] std::string describe_memory(std::span<const Profile> profiles,
                                          const MemoryUse& use,
                                          double capacity_gib);

}  // namespace carpool::assign
