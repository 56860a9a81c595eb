// Any bytes as a trace: jobs in order of submission, which are the same when written and read
// again, or an error that names the file.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "simulate/trace/trace.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_trace(std::string_view bytes) {
  const auto trace = simulate::parse_trace(bytes, "trace.csv");
  if (!trace) {
    require(trace.error().message.find("trace.csv") != std::string::npos);
    return;
  }
  require(std::ranges::is_sorted(trace->jobs, {}, &simulate::TraceJob::submit_s));
  for (const simulate::TraceJob& job : trace->jobs) {
    require(std::isfinite(job.submit_s) && std::isfinite(job.solo_s) && job.solo_s > 0.0);
    require(job.gpus >= 1);
  }
  const auto again = simulate::parse_trace(simulate::trace_csv(*trace), "trace.csv");
  require(again.has_value() && again->jobs.size() == trace->jobs.size());
  require(simulate::shuffled(*trace, 1).jobs.size() == trace->jobs.size());
}

}  // namespace carpool::fuzz
