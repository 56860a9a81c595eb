// The last samples of one GPU, summed up as placement policies want them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>

#include "core/cluster_snapshot.hpp"

namespace carpool::observe {

enum class WindowSummary {
  Mean,
  Risk,  // CARMA's: 0.2 mean + 0.3 median + 0.3 p95 + 0.2 exponential mean with alpha 2 / (n + 1)
};

[[nodiscard]] double summarise(std::span<const double> values, WindowSummary how);

class SampleWindow {
 public:
  SampleWindow(std::size_t samples, WindowSummary how) : samples_(samples), how_(how) {}

  void add(const GpuPressure& sample);
  // Empty until there are enough samples.
  [[nodiscard]] std::optional<GpuPressure> pressure() const;

 private:
  std::size_t samples_;
  WindowSummary how_;
  std::deque<GpuPressure> last_;
};

}  // namespace carpool::observe
