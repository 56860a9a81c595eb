#include "schedule/advice/belief_words.hpp"

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "schedule/gpus/process_cap.hpp"

namespace carpool::schedule {
namespace {

constexpr double kPercent = 100.0;

std::string range_words(const Interval& interval) {
  return fmt::format("{:.0f} to {:.0f} %", kPercent * interval.low, kPercent * interval.high);
}

bool says_something(const Interval& interval) {
  return interval.low > 0.0 || interval.high < 1.0;
}

std::string need_words(const QueuedJob& job) {
  if (!job.need_bytes) {
    return "unknown";
  }
  const std::string need = gib_text(*job.need_bytes);
  switch (job.need_basis) {
    case NeedBasis::Unknown:
      break;
    case NeedBasis::Told:
      return fmt::format("told {}", need);
    case NeedBasis::Estimated:
      return fmt::format("estimated {}", need);
    case NeedBasis::Seen:
      return fmt::format("{} by runs that did not finish", need);
    case NeedBasis::Finished:
      return fmt::format("{} by finished runs", need);
    case NeedBasis::Failure:
      return fmt::format("at least {}, since it ran out of memory with less", need);
  }
  return fmt::format("needs {}", need);
}

}  // namespace

std::string activity_words(const InterferenceModel& model, const std::string& workload) {
  if (const auto belief = model.belief(workload)) {
    std::string words =
        fmt::format("assumed {:.0f} % of a GPU until seen", kPercent * belief->assumed_sm_active);
    if (belief->window) {
      words += fmt::format("; kernel window of {:.0f} s{}: {:.0f} %",
                           belief->window->over_s,
                           belief->window->alone ? "" : " beside other jobs",
                           kPercent * belief->window->sm_active);
    }
    if (belief->measured_s > 0.0) {
      words += fmt::format("; measured {:.0f} %", kPercent * belief->sm_active);
      words += says_something(belief->sm_active90)
                   ? fmt::format(" ({})", range_words(belief->sm_active90))
                   : std::string();
      words += fmt::format(" after {:.0f} s{}",
                           belief->measured_s,
                           belief->alone ? "" : ", always beside other jobs");
      words += belief->solo_rate ? "" : "; its speed alone is not measured";
    }
    return words;
  }
  if (const auto active = model.sm_active(workload)) {
    return fmt::format("uses {:.0f} % of a GPU by the model", kPercent * *active);
  }
  return "how much of a GPU it uses is not known";
}

std::string memory_words(const QueuedJob& job,
                         const JobAttempt* running,
                         const Resident* resident) {
  std::string words = need_words(job);
  if (running != nullptr && running->start.cap_bytes) {
    words += fmt::format("; capped at {}", gib_text(*running->start.cap_bytes));
    if (const unsigned processes = running->start.processes; processes > 1) {
      words += fmt::format(", {} for each of {} processes",
                           gib_text(process_cap(*running->start.cap_bytes, processes)),
                           processes);
    }
  }
  if (resident == nullptr) {
    return words;
  }
  if (resident->used_bytes > 0) {
    words += fmt::format(
        "; measured {} after {:.0f} s", gib_text(resident->used_bytes), resident->computed_s);
  }
  if (resident->reserved_bytes > 0) {
    words += fmt::format("; {} are reserved for it now", gib_text(resident->reserved_bytes));
  }
  return words;
}

std::string forecast_words(const ProgressForecast& forecast) {
  const char* basis = "assumed: it was not seen yet";
  switch (forecast.basis) {
    case ProgressForecast::Basis::Assumed:
      break;
    case ProgressForecast::Basis::Members:
      basis = "from what is known of the jobs";
      break;
    case ProgressForecast::Basis::Measured:
      basis = "this group was measured";
      break;
  }
  return fmt::format("{:.0f} % of its solo speed{}, {}",
                     kPercent * forecast.progress,
                     says_something(forecast.interval90)
                         ? fmt::format(" ({})", range_words(forecast.interval90))
                         : std::string(),
                     basis);
}

}  // namespace carpool::schedule
