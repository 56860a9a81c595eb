#include "simulate/draws.hpp"

#include <cmath>
#include <numbers>

namespace carpool::simulate {
namespace {

// SplitMix64.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

double to_unit(std::uint64_t value) {
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 53 bits
  return (static_cast<double>(value >> 11U) + 0.5) * kScale;
}

}  // namespace

double draw_uniform(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn) {
  return to_unit(mix(mix(mix(seed) ^ subject) ^ turn));
}

double draw_normal(std::uint64_t seed, std::uint64_t subject, std::uint64_t turn) {
  const double radius = std::sqrt(-2.0 * std::log(draw_uniform(seed, subject, 2 * turn)));
  return radius * std::cos(2.0 * std::numbers::pi * draw_uniform(seed, subject, 2 * turn + 1));
}

}  // namespace carpool::simulate
