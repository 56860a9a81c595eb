#include "gpu/cupti/inject/metric_table.hpp"

#include <algorithm>

namespace carpool::gpu::inject {

const std::vector<WantedMetric>& wanted_metrics() {
  // With the _realtime counters, which the chip keeps for sampling, all of these fit into one pass
  // on Hopper. The TriageCompute composites use fewer counters than those of Nsight Compute, which
  // need many passes.
  static const std::vector<WantedMetric> wanted{
      {{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
      {{"tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",
        "sm__warps_active.avg.pct_of_peak_sustained_elapsed"}},
      {{"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed.avg.pct_of_peak_sustained_elapsed"}},
      {{"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"}},
      {{"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {{"dram__read_throughput.avg.pct_of_peak_sustained_elapsed"}},
      {{"dram__write_throughput.avg.pct_of_peak_sustained_elapsed"}},
      {{"lts__t_sectors.avg.pct_of_peak_sustained_elapsed"}},
      {{"TriageCompute.sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {{"LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "lts__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {{"SM_A.TriageCompute.l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
        "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}},
  };
  return wanted;
}

std::vector<std::vector<const char*>> pack_sets(const PassesOf& passes) {
  std::vector<std::vector<const char*>> sets;
  for (const WantedMetric& wanted : wanted_metrics()) {
    const auto* const name =
        std::find_if(wanted.names.begin(), wanted.names.end(), [&](const char* candidate) {
          return candidate != nullptr && passes({candidate}) == 1;
        });
    if (name == wanted.names.end()) {
      continue;
    }
    const auto home = std::find_if(sets.begin(), sets.end(), [&](std::vector<const char*> set) {
      set.push_back(*name);
      return passes(set) == 1;
    });
    if (home != sets.end()) {
      home->push_back(*name);
    } else {
      sets.push_back({*name});
    }
  }
  return sets;
}

}  // namespace carpool::gpu::inject
