#include "interpose/gate/quantile_sketch.hpp"

#include <algorithm>
#include <bit>

namespace carpool::interpose::gate {

std::uint32_t QuantileSketch::bucket_of(Nanoseconds value) {
  if (value < Nanoseconds{1} << kLowestBit) {
    return 0;
  }
  const auto bits = static_cast<std::uint64_t>(value);
  const auto top = static_cast<std::uint32_t>(std::bit_width(bits)) - 1;
  const auto part = static_cast<std::uint32_t>(bits >> (top - kPartBits)) & (kParts - 1);
  return std::min(1 + (top - kLowestBit) * kParts + part, kBuckets - 1);
}

Nanoseconds QuantileSketch::upper_edge(std::uint32_t bucket) {
  if (bucket == 0) {
    return Nanoseconds{1} << kLowestBit;
  }
  const std::uint32_t octave = (bucket - 1) / kParts;
  const std::uint32_t part = (bucket - 1) % kParts;
  return Nanoseconds{kParts + part + 1} << (octave + kLowestBit - kPartBits);
}

void QuantileSketch::add(Nanoseconds value) {
  if (total_ >= window_) {
    total_ = 0;
    for (std::uint32_t& count : counts_) {
      count /= 2;
      total_ += count;
    }
  }
  ++counts_[bucket_of(value)];
  ++total_;
}

void QuantileSketch::clear() {
  counts_.fill(0);
  total_ = 0;
}

Nanoseconds QuantileSketch::quantile(std::uint32_t permille) const {
  if (total_ == 0) {
    return 0;
  }
  const std::uint64_t rank =
      std::max<std::uint64_t>(1, (std::uint64_t{total_} * permille + 999) / 1000);
  std::uint64_t seen = 0;
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank) {
      return upper_edge(bucket);
    }
  }
  return upper_edge(kBuckets - 1);
}

std::uint32_t QuantileSketch::above(Nanoseconds value) const {
  std::uint32_t count = 0;
  for (std::uint32_t bucket = bucket_of(value); bucket < kBuckets; ++bucket) {
    count += counts_[bucket];
  }
  return count;
}

}  // namespace carpool::interpose::gate
