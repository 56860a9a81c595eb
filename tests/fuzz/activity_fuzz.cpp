// Any bytes as an activity file: the reader returns a sorted trace with valid references, or an
// error with a message.
#include <algorithm>
#include <string_view>

#include "gpu/cupti/activity_reader.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

template <class Entries>
void require_sorted(const Entries& entries) {
  require(std::is_sorted(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.start_ns < b.start_ns;
  }));
}

}  // namespace

void feed_activity(std::string_view bytes) {
  const auto trace = gpu::parse_activity(bytes, "activity.1.bin");
  if (!trace) {
    require(trace.error().message.find("activity.1.bin") != std::string::npos);
    return;
  }
  require_sorted(trace->launches);
  require_sorted(trace->memory_operations);
  require_sorted(trace->ranges);
  require_sorted(trace->counter_samples);
  for (const auto& launch : trace->launches) {
    require(launch.kernel < trace->kernels.size() && launch.duration_ns >= 0);
  }
  for (const auto& sample : trace->counter_samples) {
    require(sample.metric < trace->counter_sets.at(sample.set).metrics.size());
  }
  for (const auto& window : trace->windows) {
    require(window.start_ns <= window.end_ns);
  }
  require(trace->complete == trace->end.has_value());
}

}  // namespace carpool::fuzz
