#include "profile/activity_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace carpool::profile {
namespace {

constexpr double kMicro = 1e6;
constexpr double kXuLong = 200.0;  // us, as published
constexpr double kLong = 100.0;
constexpr double kVeryLong = 1000.0;

using Interval64 = std::pair<std::int64_t, std::int64_t>;

// The part of a record that lies in the window; the caller drops empty ones.
Interval64 clipped(std::int64_t start, std::int64_t duration, const TimeWindow& window) {
  return {std::max(start, window.start_ns), std::min(start + duration, window.end_ns)};
}

// Records of all processes; overlapping ones count once.
double covered_seconds(std::vector<Interval64> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t sum = 0;
  std::int64_t until = intervals.empty() ? 0 : intervals.front().first;
  for (const auto& [start, end] : intervals) {
    sum += std::max<std::int64_t>(0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return static_cast<double>(sum) * 1e-9;
}

struct Durations {
  std::vector<double> kernels_us;  // of every launch in the window, sorted
  std::vector<Interval64> busy;
  double copies_seconds = 0.0;
};

Durations durations_of(std::span<const gpu::ActivityTrace> traces, const TimeWindow& window) {
  Durations out;
  for (const gpu::ActivityTrace& trace : traces) {
    for (const auto& launch : trace.launches) {
      const Interval64 inside = clipped(launch.start_ns, launch.duration_ns, window);
      if (inside.first < inside.second) {
        out.busy.push_back(inside);
      }
      if (window.holds(launch.start_ns)) {
        out.kernels_us.push_back(static_cast<double>(launch.duration_ns) * 1e-3);
      }
    }
    for (const auto& operation : trace.memory_operations) {
      const Interval64 inside = clipped(operation.start_ns, operation.duration_ns, window);
      out.copies_seconds +=
          static_cast<double>(std::max<std::int64_t>(0, inside.second - inside.first)) * 1e-9;
    }
  }
  std::sort(out.kernels_us.begin(), out.kernels_us.end());
  return out;
}

// The kernel length below which this share of all kernel time lies.
double weighted_quantile(const std::vector<double>& sorted, double total, double share) {
  double sum = 0.0;
  for (const double value : sorted) {
    sum += value;
    if (sum >= share * total) {
      return value;
    }
  }
  return sorted.back();
}

double share_above(const std::vector<double>& sorted, double total, double limit) {
  double sum = 0.0;
  for (const double value : sorted) {
    sum += value > limit ? value : 0.0;
  }
  return total > 0.0 ? sum / total : 0.0;
}

void add_lengths(const std::vector<double>& sorted, Metrics& metrics) {
  double total = 0.0;
  for (const double value : sorted) {
    total += value;
  }
  const auto count = static_cast<double>(sorted.size());
  const auto first_long = std::upper_bound(sorted.begin(), sorted.end(), kXuLong);
  const auto longs = static_cast<double>(sorted.end() - first_long);
  metrics["kernel_us_mean"] = total / count;
  metrics["kernel_us_p50"] = weighted_quantile(sorted, total, 0.5);
  metrics["kernel_us_p95"] = weighted_quantile(sorted, total, 0.95);
  metrics["over_100us_share"] = share_above(sorted, total, kLong);
  metrics["over_1ms_share"] = share_above(sorted, total, kVeryLong);
  metrics["xu_avg_kernel_len"] = total / count;
  metrics["xu_long_kernel_len"] =
      longs > 0.0 ? share_above(sorted, total, kXuLong) * total / longs : 0.0;
  metrics["xu_long_short_ratio"] = longs / std::max(1.0, count - longs);
}

// Means over kernels, weighted by their time.
void add_shapes(const KernelTable& table, Metrics& metrics) {
  double threads_of_launches = 0.0;
  for (const KernelRow& row : table.rows) {
    const gpu::activity_format::Kernel& facts = row.facts;
    const auto blocks = static_cast<double>(row.occupancy.blocks);
    const double threads = blocks * facts.block[0] * facts.block[1] * facts.block[2];
    threads_of_launches += threads * static_cast<double>(row.count);
    metrics["threads"] += row.share * threads;
    metrics["registers"] += row.share * threads * facts.registers_per_thread;
    metrics["static_smem"] += row.share * blocks * facts.static_shared_bytes;
    if (row.occupancy.blocks_per_sm > 0.0) {
      const double mean_us = row.seconds * kMicro / static_cast<double>(row.count);
      metrics["theoretical_occupancy"] += row.share * row.occupancy.theoretical;
      metrics["resident_occupancy"] += row.share * row.occupancy.resident;
      metrics["sms_needed"] += row.share * row.occupancy.sms;
      metrics["block_us"] += row.share * mean_us / std::ceil(row.occupancy.waves);
    }
  }
  metrics["xu_avg_threads"] = threads_of_launches / static_cast<double>(table.launches);
  metrics["top_kernel_share"] = table.rows.front().share;
  metrics["kernels_distinct"] = static_cast<double>(table.rows.size());
  metrics["graph_share"] =
      static_cast<double>(table.graph_launches) / static_cast<double>(table.launches);
}

std::uint32_t sm_count(std::span<const gpu::ActivityTrace> traces) {
  for (const gpu::ActivityTrace& trace : traces) {
    if (!trace.devices.empty()) {
      return trace.devices.front().facts.sm_count;
    }
  }
  return 0;
}

}  // namespace

Metrics activity_metrics(std::span<const gpu::ActivityTrace> traces,
                         const KernelTable& table,
                         const TimeWindow& window) {
  Metrics metrics;
  Durations durations = durations_of(traces, window);
  if (table.launches == 0 || durations.kernels_us.empty() || window.seconds() <= 0.0) {
    return metrics;
  }
  add_lengths(durations.kernels_us, metrics);
  add_shapes(table, metrics);
  metrics["gpu_busy_share"] = covered_seconds(std::move(durations.busy)) / window.seconds();
  metrics["copy_share"] = durations.copies_seconds / window.seconds();
  metrics["launches_per_s"] = static_cast<double>(table.launches) / window.seconds();
  if (const std::uint32_t sms = sm_count(traces); sms > 0) {
    metrics["sm_demand"] = metrics["gpu_busy_share"] * metrics["sms_needed"] / sms;
  }
  return metrics;
}

}  // namespace carpool::profile
