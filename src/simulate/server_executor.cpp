#include "simulate/server_executor.hpp"

#include <limits>
#include <utility>

namespace carpool::simulate {
namespace {

SimulationConstants immediate_constants() {
  SimulationConstants constants;
  constants.start_median_s = 0.0;
  constants.growth_s = 0.0;
  constants.driver_bytes = 0;
  constants.counter_sm = 1.0;
  constants.counter_dram = 1.0;
  constants.window_s = 0.0;
  return constants;
}

}  // namespace

std::unique_ptr<SimulatedExecutor> make_server_executor(const ClusterSpec& cluster,
                                                        const InterferenceModel& truth,
                                                        SimulatedExecutor::Clock clock) {
  ClusterSpec unlimited = cluster;
  unlimited.memory_bytes = std::numeric_limits<std::uint64_t>::max();
  return std::make_unique<SimulatedExecutor>(
      work_of_specs(truth),
      unlimited,
      truth,
      std::move(clock),
      SimulatedExecutor::Options{
          .constants = immediate_constants(), .thread_limits = true, .keep_runs = false});
}

}  // namespace carpool::simulate
