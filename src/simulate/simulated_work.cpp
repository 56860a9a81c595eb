#include "simulate/simulated_work.hpp"

#include <fmt/format.h>

#include "core/workload_identity.hpp"

namespace carpool::simulate {

WorkSource work_of_trace(const Trace& trace, const InterferenceModel& truth) {
  return [&trace, &truth](const LaunchSpec& spec) -> Result<SimulatedWork> {
    const auto index = static_cast<std::size_t>(spec.run.job) - 1;
    if (spec.run.job < 1 || index >= trace.jobs.size()) {
      return fail(ErrorCode::NotFound, fmt::format("job {} is not in the trace", spec.run.job));
    }
    const TraceJob& job = trace.jobs[index];
    const double sm_active = job.sm_active > 0.0
                                 ? job.sm_active
                                 : truth.sm_active(job.workload).value_or(kUnknownActivity);
    return SimulatedWork{.workload = job.workload,
                         .solo_s = job.solo_s,
                         .early_bytes = job.early_bytes,
                         .peak_bytes = job.peak_bytes,
                         .sm_active = sm_active,
                         .sm_occupancy = job.sm_occupancy,
                         .dram_active = job.dram_active};
  };
}

WorkSource work_of_specs(const InterferenceModel& truth) {
  return [&truth](const LaunchSpec& spec) -> Result<SimulatedWork> {
    const std::string workload = workload_key(spec.job);
    const std::uint64_t bytes = spec.job.mem_bytes.value_or(kUnstatedBytes);
    return SimulatedWork{.workload = workload,
                         .solo_s = spec.job.runtime_s.value_or(kUnstatedSeconds),
                         .early_bytes = bytes,
                         .peak_bytes = bytes,
                         .sm_active = truth.sm_active(workload).value_or(kUnstatedActivity)};
  };
}

}  // namespace carpool::simulate
