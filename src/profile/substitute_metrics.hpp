// Substitutes for the kernel metrics of KACE without Nsight Compute, from the SMs' own counters.
#pragma once

#include "profile/workload_profile.hpp"

namespace carpool::profile {

// Fills sm_, dram_ and mem_throughput_pct where ncu has not, from --counters or from GPM. Both
// cover all time, the published metrics only the time in kernels, so values are divided by the
// share of time with a kernel running. profile.substitute_metrics names the source of each.
void add_substitute_metrics(WorkloadProfile& profile);

}  // namespace carpool::profile
