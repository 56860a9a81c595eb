// Workloads for problems larger than the measured ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/profile.hpp"

namespace carpool {

// `count` draws from `profiles`, with replacement.
[[nodiscard]] std::vector<std::size_t> draw_profiles(std::size_t profiles,
                                                     std::size_t count,
                                                     std::uint32_t seed);

// Each is a drawn profile with its own name and every number changed by about a fifth: new
// workloads of known models.
[[nodiscard]] std::vector<Profile> made_up_profiles(std::span<const Profile> profiles,
                                                    std::size_t count,
                                                    std::uint32_t seed);

}  // namespace carpool
