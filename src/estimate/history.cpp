#include "estimate/history.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace carpool {
namespace {

// The same command again: order of allocations and lazily loaded kernels differ.
constexpr double kRepeatFactor = 1.02;
constexpr std::int64_t kRepeatBytes = std::int64_t{40} << 20;  // two segments of the allocator

// log(bound / expected) of 99 %, from the spread of a thousand timm models at five batch sizes,
// whose convolutions choose other algorithms from one batch to the next.
constexpr double kLineMargin = 0.3;
constexpr double kLineMarginOctave = 0.1;  // for each doubling beyond what was measured

MemoryEstimate from_peak(std::int64_t peak, std::string basis) {
  MemoryEstimate estimate{
      .expected = peak,
      .upper = std::max<std::int64_t>(peak + kRepeatBytes,
                                      std::llround(static_cast<double>(peak) * kRepeatFactor)),
      .basis = std::move(basis)};
  estimate.breakdown.allocator_slack = peak;
  estimate.notes.emplace_back("measured as a whole: no breakdown");
  return estimate;
}

struct Line {
  double intercept = 0.0;
  double slope = 0.0;
};

Line fit_line(const std::map<std::int64_t, std::int64_t>& peaks) {
  const auto count = static_cast<double>(peaks.size());
  double mean_batch = 0.0;
  double mean_bytes = 0.0;
  for (const auto& [batch, bytes] : peaks) {
    mean_batch += static_cast<double>(batch) / count;
    mean_bytes += static_cast<double>(bytes) / count;
  }
  double both = 0.0;
  double square = 0.0;
  for (const auto& [batch, bytes] : peaks) {
    const double distance = static_cast<double>(batch) - mean_batch;
    both += distance * (static_cast<double>(bytes) - mean_bytes);
    square += distance * distance;
  }
  const double slope = std::max(0.0, both / square);  // more samples never need less
  return {.intercept = mean_bytes - slope * mean_batch, .slope = slope};
}

}  // namespace

Result<MemoryEstimate> estimate_from_history(std::span<const std::int64_t> peaks) {
  const auto largest = std::ranges::max_element(peaks);
  if (largest == peaks.end() || *largest <= 0) {
    return fail(ErrorCode::NotFound, "no earlier run of this command measured its memory");
  }
  return from_peak(*largest, "history");
}

Result<MemoryEstimate> estimate_from_batches(std::span<const BatchPeak> peaks, std::int64_t batch) {
  std::map<std::int64_t, std::int64_t> largest;
  for (const BatchPeak& peak : peaks) {
    if (peak.batch <= 0 || peak.bytes <= 0) {
      return invalid_input(fmt::format(
          "a run with batch {} took {} bytes: both must be above 0", peak.batch, peak.bytes));
    }
    std::int64_t& known = largest[peak.batch];
    known = std::max(known, peak.bytes);
  }
  if (batch <= 0) {
    return invalid_input(fmt::format("the batch is {}; it must be 1 at least", batch));
  }
  if (const auto same = largest.find(batch); same != largest.end()) {
    return from_peak(same->second, "history");
  }
  if (largest.size() < 2) {
    return fail(ErrorCode::NotFound,
                fmt::format("runs at two batch sizes are needed to tell the memory at batch {}; "
                            "{} known",
                            batch,
                            largest.size()));
  }
  const Line line = fit_line(largest);
  double expected = line.intercept + line.slope * static_cast<double>(batch);
  for (const auto& [known, bytes] : largest) {
    expected = known < batch ? std::max(expected, static_cast<double>(bytes)) : expected;
  }
  expected = std::max(expected, 1.0);
  const double beyond =
      std::log2(static_cast<double>(batch) / static_cast<double>(largest.rbegin()->first));
  const double margin = kLineMargin + kLineMarginOctave * std::max(0.0, beyond);
  MemoryEstimate estimate{.expected = std::llround(expected),
                          .upper = std::llround(expected * std::exp(margin)),
                          .basis = "history at other batch sizes"};
  estimate.breakdown.allocator_slack = estimate.expected;
  estimate.notes.push_back(fmt::format("a line through {} batch sizes", largest.size()));
  return estimate;
}

}  // namespace carpool
