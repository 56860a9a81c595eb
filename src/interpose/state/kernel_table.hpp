// What is known of the durations of kernels, by key. Lock-free, of fixed size, in shared memory:
// all processes of the GPU learn into one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

[[nodiscard]] std::uint64_t hash_name(std::string_view name);

// Same kernel, about the same amount of work: blocks in buckets of a quarter of an octave, threads
// of a block in warps. Never 0.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
};
[[nodiscard]] std::uint64_t kernel_key(std::uint64_t name_hash, const LaunchShape& shape);

// The same kernel in its place of a program, after the two launches before it: a matrix product has
// an inner size that its launch does not show, but the launches before it tell products apart.
[[nodiscard]] std::uint64_t kernel_key_after(std::uint64_t key,
                                             std::uint64_t before,
                                             std::uint64_t one_earlier);

// The same kernel while something else was on the GPU.
[[nodiscard]] std::uint64_t kernel_key_slowed(std::uint64_t key);

enum class KernelSource : std::uint64_t { Sampled = 0, Profile = 1 };

struct KernelEstimate {
  float mean_ns = 0;
  float deviation_ns = 0;   // mean distance from the mean, as TCP keeps it for round trips
  std::uint32_t count = 0;  // samples; 0: unknown
  KernelSource source = KernelSource::Sampled;
};

// The kernel takes different times under one key, so that its place is worth knowing.
[[nodiscard]] constexpr bool varies(const KernelEstimate& estimate) {
  constexpr std::uint32_t kFew = 3;
  constexpr float kPartOfMean = 8;
  return estimate.count >= kFew && estimate.deviation_ns * kPartOfMean > estimate.mean_ns;
}

class KernelTable {
 public:
  explicit KernelTable(std::span<KernelEntry> entries) : entries_(entries) {}

  // count is 0 for a key that is not known.
  [[nodiscard]] KernelEstimate find(std::uint64_t key) const;

  // Adds a measured duration. Where the neighbourhood of the key is full, the kernel with the
  // fewest samples makes room; false if another process took its place.
  bool learn(std::uint64_t key, std::uint64_t duration_ns);

  // Adds a duration that may be too long: the least of them counts.
  bool learn_least(std::uint64_t key, std::uint64_t duration_ns);

  // Sets what a profile tells, unless samples are there already.
  bool set(std::uint64_t key, const KernelEstimate& estimate);

  // A file: header with magic, version, number of records and checksum, then the records.
  // Returns the bytes written, 0 if `out` is too small; file_bytes() tells what is needed.
  [[nodiscard]] std::size_t file_bytes() const;
  [[nodiscard]] std::size_t save(std::span<std::byte> out) const;

  // Nothing is taken from a file that is not valid as a whole. False then.
  [[nodiscard]] bool load(std::span<const std::byte> file);

 private:
  [[nodiscard]] KernelEntry* entry_of(std::uint64_t key, bool insert) const;
  [[nodiscard]] KernelEntry* take_over(std::uint64_t key, std::size_t probes) const;
  std::span<KernelEntry> entries_;
};

}  // namespace carpool::interpose
