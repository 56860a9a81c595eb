#include "estimate/history/measured_history.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "estimate/largest_fitting.hpp"

namespace carpool::estimate {
namespace {

// Repeated runs of a command differ in the order of allocations and in lazily loaded kernels.
constexpr double kRepeatFactor = 1.02;
constexpr std::int64_t kRepeatBytes = 40 * kMiB;  // two segments of the allocator

// log(bound / expected) for 99 %, from the spread of a thousand timm models at five batch sizes,
// whose convolutions change algorithms from one batch size to the next.
constexpr double kLineMargin = 0.3;
constexpr double kLineMarginOctave = 0.1;  // for each doubling beyond the largest measured

MemoryEstimate from_peak(std::int64_t peak, std::string basis) {
  MemoryEstimate estimate{
      .expected = peak,
      .upper = std::max<std::int64_t>(peak + kRepeatBytes,
                                      std::llround(static_cast<double>(peak) * kRepeatFactor)),
      .basis = std::move(basis)};
  estimate.breakdown.allocator_slack = peak;
  estimate.notes.emplace_back("measured as a whole, so there is no breakdown");
  return estimate;
}

// The largest peak of each batch size.
using KnownBatches = std::map<std::int64_t, std::int64_t>;

Result<KnownBatches> known_batches(std::span<const BatchPeak> peaks) {
  KnownBatches known;
  for (const BatchPeak& peak : peaks) {
    if (peak.batch <= 0 || peak.bytes <= 0) {
      return invalid_input(fmt::format(
          "a run with batch {} used {} bytes; both must be above 0", peak.batch, peak.bytes));
    }
    std::int64_t& bytes = known[peak.batch];
    bytes = std::max(bytes, peak.bytes);
  }
  return known;
}

// A line through peaks at two or more batch sizes.
class BatchLine {
 public:
  explicit BatchLine(const KnownBatches& known) : known_(known) {
    const auto count = static_cast<double>(known.size());
    double mean_batch = 0.0;
    double mean_bytes = 0.0;
    for (const auto& [batch, bytes] : known) {
      mean_batch += static_cast<double>(batch) / count;
      mean_bytes += static_cast<double>(bytes) / count;
    }
    double both = 0.0;
    double square = 0.0;
    for (const auto& [batch, bytes] : known) {
      const double distance = static_cast<double>(batch) - mean_batch;
      both += distance * (static_cast<double>(bytes) - mean_bytes);
      square += distance * distance;
    }
    slope_ = std::max(0.0, both / square);  // more samples never need less memory
    intercept_ = mean_bytes - slope_ * mean_batch;
  }

  // Neither falls as the batch grows.
  [[nodiscard]] double expected(std::int64_t batch) const {
    double bytes = std::max(intercept_ + slope_ * static_cast<double>(batch), 1.0);
    for (const auto& [smaller, taken] : known_) {
      bytes = smaller < batch ? std::max(bytes, static_cast<double>(taken)) : bytes;
    }
    return bytes;
  }
  [[nodiscard]] double upper(std::int64_t batch) const {
    const double beyond =
        std::log2(static_cast<double>(batch) / static_cast<double>(known_.rbegin()->first));
    return expected(batch) * std::exp(kLineMargin + kLineMarginOctave * std::max(0.0, beyond));
  }

 private:
  const KnownBatches& known_;
  double intercept_ = 0.0;
  double slope_ = 0.0;
};

tl::unexpected<Error> too_few(const std::string& what, std::size_t known) {
  return fail(
      ErrorCode::NotFound,
      fmt::format("an estimate of {} needs runs at two batch sizes; {} known", what, known));
}

}  // namespace

Result<MemoryEstimate> estimate_from_history(std::span<const std::int64_t> peaks) {
  const auto largest = std::ranges::max_element(peaks);
  if (largest == peaks.end() || *largest <= 0) {
    return fail(ErrorCode::NotFound, "no earlier run of this command has a measured peak");
  }
  return from_peak(*largest, "history");
}

Result<MemoryEstimate> estimate_from_batches(std::span<const BatchPeak> peaks, std::int64_t batch) {
  const auto known = known_batches(peaks);
  if (!known) {
    return tl::unexpected(known.error());
  }
  if (batch <= 0) {
    return invalid_input(fmt::format("the batch is {}; it must be at least 1", batch));
  }
  if (const auto same = known->find(batch); same != known->end()) {
    return from_peak(same->second, "history");
  }
  if (known->size() < 2) {
    return too_few(fmt::format("the memory at batch {}", batch), known->size());
  }
  const BatchLine line(*known);
  MemoryEstimate estimate{.expected = std::llround(line.expected(batch)),
                          .upper = std::llround(line.upper(batch)),
                          .basis = "history at other batch sizes"};
  estimate.breakdown.allocator_slack = estimate.expected;
  estimate.notes.push_back(fmt::format("a line through {} batch sizes", known->size()));
  return estimate;
}

Result<std::optional<std::int64_t>> largest_batch_from_batches(std::span<const BatchPeak> peaks,
                                                               std::int64_t bytes,
                                                               std::int64_t below) {
  const auto known = known_batches(peaks);
  if (!known) {
    return tl::unexpected(known.error());
  }
  if (known->size() < 2) {
    return too_few("the largest batch", known->size());
  }
  const auto measured_fits = [&](std::int64_t batch) {
    return from_peak(known->at(batch), "").upper <= bytes;
  };
  const BatchLine line(*known);
  std::int64_t largest = largest_fitting([&](std::int64_t batch) {
    return batch < below && line.upper(batch) <= static_cast<double>(bytes);
  });
  // A measured peak overrides the line in both directions.
  while (known->contains(largest) && !measured_fits(largest)) {
    --largest;
  }
  for (const auto& [batch, taken] : *known) {
    if (batch < below && measured_fits(batch)) {
      largest = std::max(largest, batch);
    }
  }
  return largest > 0 ? std::optional(largest) : std::nullopt;
}

}  // namespace carpool::estimate
