#include "interpose/state/kernel_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace carpool::interpose {
namespace {

constexpr std::uint64_t kFnvPrime = 0x100000001b3;
constexpr std::size_t kMostProbes = 32;
// A sample weighs 1/n until this many are there, then always this much: the table forgets half of
// what it knew within 44 samples.
constexpr float kLeastWeight = 1.0F / 64.0F;
constexpr std::uint64_t kFewSamples = 3;
constexpr float kSlowed = 4;

constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

std::uint64_t product_of(const std::array<std::uint32_t, 3>& sizes) {
  return std::max<std::uint64_t>(1, sizes[0]) * std::max<std::uint64_t>(1, sizes[1]) *
         std::max<std::uint64_t>(1, sizes[2]);
}

// Octave and quarter of it: 4, 5, 6, 7, 8, 10, 12, 14, 16, …
std::uint64_t quarter_octave(std::uint64_t value) {
  const auto octave = static_cast<unsigned>(std::bit_width(value));
  return octave <= 3 ? value : std::uint64_t{octave} << 2U | (value >> (octave - 3) & 3U);
}

std::uint64_t packed(float mean, float deviation) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(mean)} << 32U |
         std::bit_cast<std::uint32_t>(deviation);
}
float mean_of(std::uint64_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32U));
}
float deviation_of(std::uint64_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word));
}

}  // namespace

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * kFnvPrime;
  }
  return hash;
}

std::uint64_t kernel_key(std::uint64_t name_hash, const LaunchShape& shape) {
  const std::uint64_t warps = (product_of(shape.block) + 31) / 32;
  const std::uint64_t key =
      mixed(name_hash + mixed(quarter_octave(product_of(shape.grid)) << 32U | warps));
  return key == 0 ? 1 : key;
}

std::uint64_t kernel_key_after(std::uint64_t key, std::uint64_t before, std::uint64_t one_earlier) {
  const std::uint64_t placed = mixed(key + mixed(before + mixed(one_earlier)));
  return placed == 0 ? 1 : placed;
}

std::uint64_t kernel_key_slowed(std::uint64_t key) {
  constexpr std::uint64_t kMark = 0xd1b54a32d192ed03;  // of no launch
  return kernel_key_after(key, kMark, kMark);
}

KernelEntry* KernelTable::entry_of(std::uint64_t key, bool insert) const {
  if (key == 0 || entries_.empty()) {
    return nullptr;
  }
  const std::size_t probes = std::min(kMostProbes, entries_.size());
  for (std::size_t probe = 0; probe < probes; ++probe) {
    KernelEntry& entry = entries_[(key + probe) % entries_.size()];
    std::uint64_t seen = entry.key.load(std::memory_order_acquire);
    if (seen == 0 && !insert) {
      return nullptr;
    }
    if (seen == 0 && entry.key.compare_exchange_strong(seen, key)) {
      return &entry;
    }
    if (seen == key) {
      return &entry;
    }
  }
  return insert ? take_over(key, probes) : nullptr;
}

// The neighbourhood is full, maybe of kernels of programs that ended long ago: the one with the
// fewest samples makes room, and the samples of all of them count half from then on.
KernelEntry* KernelTable::take_over(std::uint64_t key, std::size_t probes) const {
  KernelEntry* least = nullptr;
  for (std::size_t probe = 0; probe < probes; ++probe) {
    KernelEntry& entry = entries_[(key + probe) % entries_.size()];
    const std::uint64_t half = entry.count.load(std::memory_order_relaxed) / 2;
    entry.count.store(half, std::memory_order_relaxed);
    if (least == nullptr || half < least->count.load(std::memory_order_relaxed)) {
      least = &entry;
    }
  }
  // A process that learns at this moment may add a sample of the old kernel to the new one.
  std::uint64_t old = least->key.load(std::memory_order_acquire);
  least->count.store(0, std::memory_order_relaxed);
  least->source.store(static_cast<std::uint64_t>(KernelSource::Sampled));
  return least->key.compare_exchange_strong(old, key) ? least : nullptr;
}

KernelEstimate KernelTable::find(std::uint64_t key) const {
  const KernelEntry* entry = entry_of(key, false);
  if (entry == nullptr) {
    return {};
  }
  const std::uint64_t word = entry->estimate.load(std::memory_order_relaxed);
  const std::uint64_t count = entry->count.load(std::memory_order_acquire);
  return {.mean_ns = mean_of(word),
          .deviation_ns = deviation_of(word),
          .count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX)),
          .source = static_cast<KernelSource>(entry->source.load(std::memory_order_relaxed) & 1U)};
}

// A kernel may have been slowed down by something, but not sped up: of few samples, one that is far
// below the others is believed.
bool KernelTable::learn(std::uint64_t key, std::uint64_t duration_ns) {
  KernelEntry* entry = entry_of(key, true);
  if (entry == nullptr) {
    return false;
  }
  const auto sample = static_cast<float>(duration_ns);
  std::uint64_t seen = entry->estimate.load(std::memory_order_relaxed);
  const std::uint64_t count = entry->count.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    const bool first = count == 0 || !std::isfinite(mean_of(seen));
    if (first || (count < kFewSamples && sample * kSlowed < mean_of(seen))) {
      next = packed(sample, 0.0F);
      continue;
    }
    const float weight = std::max(1.0F / static_cast<float>(count + 1), kLeastWeight);
    const float away = sample - mean_of(seen);
    const float deviation = deviation_of(seen) + weight * (std::abs(away) - deviation_of(seen));
    next = packed(mean_of(seen) + weight * away, deviation);
  } while (!entry->estimate.compare_exchange_weak(seen, next, std::memory_order_relaxed));
  entry->count.fetch_add(1, std::memory_order_release);
  return true;
}

bool KernelTable::learn_least(std::uint64_t key, std::uint64_t duration_ns) {
  KernelEntry* entry = entry_of(key, true);
  if (entry == nullptr) {
    return false;
  }
  const auto sample = static_cast<float>(duration_ns);
  std::uint64_t seen = entry->estimate.load(std::memory_order_relaxed);
  const bool first = entry->count.load(std::memory_order_relaxed) == 0;
  while ((first || sample < mean_of(seen)) &&
         !entry->estimate.compare_exchange_weak(
             seen, packed(sample, 0.0F), std::memory_order_relaxed)) {
  }
  entry->count.fetch_add(1, std::memory_order_release);
  return true;
}

bool KernelTable::set(std::uint64_t key, const KernelEstimate& estimate) {
  KernelEntry* entry = entry_of(key, true);
  if (entry == nullptr) {
    return false;
  }
  if (entry->count.load() == 0) {
    entry->estimate.store(packed(estimate.mean_ns, estimate.deviation_ns));
    entry->source.store(static_cast<std::uint64_t>(estimate.source));
    entry->count.store(estimate.count);
  }
  return true;
}

}  // namespace carpool::interpose
