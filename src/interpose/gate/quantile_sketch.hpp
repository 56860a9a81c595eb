// Quantiles of durations in fixed memory: counts in buckets of a sixteenth of an octave.
#pragma once

#include <array>
#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// From 1 µs to 68 s; what is outside counts as the nearest bucket. An answer is the upper edge of a
// bucket: at least the true quantile, at most 6.25 % above it. All counts are halved whenever
// `window` values have been added, so that old values fade.
class QuantileSketch {
 public:
  explicit constexpr QuantileSketch(std::uint32_t window = 1024) : window_(window) {}

  void add(Nanoseconds value);
  void clear();
  // Number of values that still count.
  [[nodiscard]] std::uint32_t count() const { return total_; }
  // permille 990: the 99th percentile. 0 if no value was added.
  [[nodiscard]] Nanoseconds quantile(std::uint32_t permille) const;
  // Number of values above this one, with those of its own bucket.
  [[nodiscard]] std::uint32_t above(Nanoseconds value) const;

 private:
  static constexpr std::uint32_t kLowestBit = 10;
  static constexpr std::uint32_t kOctaves = 26;
  static constexpr std::uint32_t kPartBits = 4;
  static constexpr std::uint32_t kParts = 1U << kPartBits;
  static constexpr std::uint32_t kBuckets = 1 + kOctaves * kParts;

  [[nodiscard]] static std::uint32_t bucket_of(Nanoseconds value);
  [[nodiscard]] static Nanoseconds upper_edge(std::uint32_t bucket);

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint32_t total_ = 0;
  std::uint32_t window_;
};

}  // namespace carpool::interpose::gate
