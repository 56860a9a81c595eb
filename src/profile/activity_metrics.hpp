// Metrics of a program from its recorded launches.
#pragma once

#include <span>

#include "gpu/cupti/activity_reader.hpp"
#include "profile/kernel_table.hpp"
#include "profile/metric_names.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

// The metrics of groups kernel, activity and xu that follow from launches; empty without a launch
// in the window.
[[nodiscard]] Metrics activity_metrics(std::span<const gpu::ActivityTrace> traces,
                                       const KernelTable& table,
                                       const TimeWindow& window);

}  // namespace carpool::profile
