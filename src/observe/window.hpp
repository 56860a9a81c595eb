// The last samples of one GPU, summarised for placement policies.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>

#include "core/cluster_snapshot.hpp"

namespace carpool::observe {

enum class WindowSummary {
  Mean,
  Risk,  // window_score()
};

[[nodiscard]] double summarise(std::span<const double> values, WindowSummary how);

class SampleWindow {
 public:
  SampleWindow(std::size_t samples, WindowSummary how) : samples_(samples), how_(how) {}

  // What happened in the last `span_s`. Short spans are joined to samples of a second.
  void add(const GpuPressure& sample, double span_s);
  // Empty until there are enough samples.
  [[nodiscard]] std::optional<GpuPressure> pressure() const;

 private:
  std::size_t samples_;
  WindowSummary how_;
  std::deque<GpuPressure> last_;
  GpuPressure sum_{};  // of what is not yet a sample, weighted by time
  double sum_s_ = 0.0;
};

}  // namespace carpool::observe
