#include <map>
#include <string_view>
#include <tuple>

#include "profile/ncu/ncu_csv.hpp"

namespace carpool::profile {
namespace {

// Weighted mean of one metric over the launches that have it.
class WeightedMean {
 public:
  void add(std::optional<double> value, double weight) {
    if (value) {
      sum_ += *value * weight;
      weight_ += weight;
    }
  }
  void store(Metrics& metrics, const char* name) const {
    if (weight_ > 0.0) {
      metrics[name] = sum_ / weight_;
    }
  }

 private:
  double sum_ = 0.0;
  double weight_ = 0.0;
};

using KernelShape = std::tuple<std::string_view,
                               const std::array<std::uint32_t, 3>&,
                               const std::array<std::uint32_t, 3>&>;

// Seconds of the whole program that each launch represents.
std::vector<double> weights_of(std::span<const NcuLaunch> launches, const KernelTable* table) {
  std::map<KernelShape, std::pair<double, std::size_t>> known;  // seconds, launches that share them
  if (table != nullptr) {
    for (const KernelRow& row : table->rows) {
      known[KernelShape(row.symbol, row.facts.grid, row.facts.block)].first += row.seconds;
    }
  }
  const auto find = [&](const NcuLaunch& launch) {
    return known.find(KernelShape(launch.kernel, launch.grid, launch.block));
  };
  for (const NcuLaunch& launch : launches) {
    if (const auto row = find(launch); row != known.end()) {
      ++row->second.second;
    }
  }
  std::vector<double> weights;
  for (const NcuLaunch& launch : launches) {
    const auto row = find(launch);
    if (table == nullptr) {
      weights.push_back(launch.seconds.value_or(0.0));
    } else {
      weights.push_back(
          row == known.end() ? 0.0 : row->second.first / static_cast<double>(row->second.second));
    }
  }
  return weights;
}

double elements_of(const std::array<std::uint32_t, 3>& extent) {
  return static_cast<double>(extent[0]) * extent[1] * extent[2];
}

std::optional<double> times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

}  // namespace

Metrics ncu_metrics(std::span<const NcuLaunch> launches, const KernelTable* table) {
  const std::vector<double> weights = weights_of(launches, table);
  WeightedMean sm;
  WeightedMean dram;
  WeightedMean memory;
  WeightedMean active;
  WeightedMean threads;
  WeightedMean registers;
  WeightedMean shared;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const NcuLaunch& launch = launches[i];
    const double blocks = elements_of(launch.grid);
    const double all_threads = blocks * elements_of(launch.block);
    sm.add(launch.sm_throughput_pct, weights[i]);
    dram.add(launch.dram_throughput_pct, weights[i]);
    memory.add(launch.mem_throughput_pct, weights[i]);
    active.add(launch.sm_active_pct, weights[i]);
    threads.add(all_threads, weights[i]);
    registers.add(times(launch.registers_per_thread, all_threads), weights[i]);
    shared.add(times(launch.static_shared_bytes, blocks), weights[i]);
  }
  Metrics metrics;
  sm.store(metrics, "sm_throughput_pct");
  dram.store(metrics, "dram_throughput_pct");
  memory.store(metrics, "mem_throughput_pct");
  active.store(metrics, "sm_active_pct");
  threads.store(metrics, "threads");
  registers.store(metrics, "registers");
  shared.store(metrics, "static_smem");
  return metrics;
}

}  // namespace carpool::profile
