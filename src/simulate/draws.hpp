// Random numbers by name: the same seed, subject and turn give the same number, whatever was drawn
// before and on whatever machine.
#pragma once

#include <cstdint>

namespace carpool::simulate {

[[nodiscard]] double draw_uniform(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn);
[[nodiscard]] double draw_normal(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn);

}  // namespace carpool::simulate
