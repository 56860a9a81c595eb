// The kernel metrics of KACE without Nsight Compute: what the SMs' own counters say instead.
#pragma once

#include "profile/workload_profile.hpp"

namespace carpool::profile {

// Fills sm_, dram_ and mem_throughput_pct where ncu has not, from --counters or from GPM: both see
// all time, the published metrics the time of kernels alone, so values are divided by the share of
// time with a kernel running. Says in profile.stand_ins what each one stands on.
void add_stand_ins(WorkloadProfile& profile);

}  // namespace carpool::profile
