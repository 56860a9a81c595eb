// Workloads for problems larger than what was measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/profile.hpp"

namespace carpool {

// So many draws from `profiles`, with replacement.
[[nodiscard]] std::vector<std::size_t> draw_profiles(std::size_t profiles,
                                                     std::size_t count,
                                                     std::uint32_t seed);

// Each a drawn profile with a name of its own and every number off by about a fifth: new workloads
// of known models.
[[nodiscard]] std::vector<Profile> made_up_profiles(std::span<const Profile> profiles,
                                                    std::size_t count,
                                                    std::uint32_t seed);

}  // namespace carpool
