#include "made_up_profiles.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numpy_random.hpp"

namespace carpool {
namespace {

constexpr double kDeviation = 0.2;  // of the logarithm of a number
constexpr double kWhole = 100.0;    // a share that was at most 100 % stays so

}  // namespace

std::vector<std::size_t> draw_profiles(std::size_t profiles,
                                       std::size_t count,
                                       std::uint32_t seed) {
  NumpyRandom random(seed);
  std::vector<std::size_t> drawn(count);
  std::ranges::generate(drawn,
                        [&] { return random.interval(static_cast<std::uint32_t>(profiles - 1)); });
  return drawn;
}

std::vector<Profile> made_up_profiles(std::span<const Profile> profiles,
                                      std::size_t count,
                                      std::uint32_t seed) {
  NumpyRandom random(seed);
  std::vector<Profile> made;
  for (const std::size_t drawn : draw_profiles(profiles.size(), count, seed)) {
    Profile profile = profiles[drawn];
    profile.workload = fmt::format("made-up-{}", made.size());
    profile.exclusive_throughput *= std::exp(kDeviation * random.normal());
    for (auto& [name, value] : profile.metrics) {
      const double moved = value * std::exp(kDeviation * random.normal());
      value = name.ends_with("_pct") && value <= kWhole ? std::min(moved, kWhole) : moved;
    }
    made.push_back(std::move(profile));
  }
  return made;
}

}  // namespace carpool
