// The layout of a step file (docs/measuring.md): memory that a job shares with what measures its
// steps. python/carpool/step_file.py and workloads/cuda/step_file.h are the job's side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace carpool::step_file_format {

inline constexpr char kMagic[8] = "CPSTEP1";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kVersionAt = 8;
inline constexpr std::size_t kCapacityAt = 12;
inline constexpr std::size_t kStepsAt = 16;
inline constexpr std::size_t kStateAt = 24;
inline constexpr std::size_t kOrderAt = 28;
inline constexpr std::size_t kUnitsAt = 32;
inline constexpr std::size_t kPidAt = 40;
inline constexpr std::size_t kCoresAt = 48;
inline constexpr std::size_t kRingAt = 64;

// Steps are counted, and nothing is ordered: the job never waits and ends as it wants.
inline constexpr std::uint32_t kOrderCount = 3;

[[nodiscard]] constexpr std::size_t bytes_of(std::uint64_t capacity) {
  return kRingAt + capacity * sizeof(std::uint64_t);
}

// A file without steps that only counts. The capacity is a power of two.
[[nodiscard]] inline std::string counting_file(std::uint32_t capacity) {
  std::string bytes(bytes_of(capacity), '\0');
  const double units = 1.0;
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + kVersionAt, &kVersion, sizeof kVersion);
  std::memcpy(bytes.data() + kCapacityAt, &capacity, sizeof capacity);
  std::memcpy(bytes.data() + kOrderAt, &kOrderCount, sizeof kOrderCount);
  std::memcpy(bytes.data() + kUnitsAt, &units, sizeof units);
  return bytes;
}

}  // namespace carpool::step_file_format
