// Random numbers that depend only on seed, subject and turn: not on earlier draws, nor on the
// machine.
#pragma once

#include <cstdint>

namespace carpool::simulate {

[[nodiscard]] double draw_uniform(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn);
[[nodiscard]] double draw_normal(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn);

}  // namespace carpool::simulate
