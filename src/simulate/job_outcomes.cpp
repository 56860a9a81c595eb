// The table of jobs of a comparison.
#include <fmt/format.h>

#include "core/job_names.hpp"
#include "simulate/csv_field.hpp"
#include "simulate/policy_comparison.hpp"

namespace carpool::simulate {
namespace {

std::string ends_text(const std::vector<RunEnd>& ends) {
  std::string text;
  for (const RunEnd end : ends) {
    text += text.empty() ? "" : " ";
    text += name_of(end);
  }
  return text;
}

std::string time_text(bool ran, double at_s) {
  return ran ? fmt::format("{:.3f}", at_s) : std::string();
}

// `place`: the columns before those of the job.
std::string job_line(const std::string& place, std::size_t number, const JobOutcome& job) {
  const bool ran = !job.ends.empty();
  return fmt::format("{},{},{},{},{:.3f},{},{},{},{},{}\n",
                     place,
                     number,
                     csv_field(job.workload),
                     job.gpus,
                     job.submitted_s,
                     time_text(ran, job.started_s),
                     time_text(ran, job.ended_s),
                     job.ends.size(),
                     ends_text(job.ends),
                     job.succeeded ? "yes" : "no");
}

}  // namespace

std::string job_outcomes_csv(const std::vector<ComparisonRow>& rows,
                             const ComparisonSettings& settings) {
  std::string text =
      "policy,seed,order,job,workload,gpus,submitted_s,started_s,ended_s,attempts,ends,succeeded\n";
  for (const ComparisonRow& row : rows) {
    for (std::size_t run = 0; run < row.runs.size(); ++run) {
      const auto order =
          settings.shuffles > 0 ? fmt::format("{}", settings.order_of(run)) : std::string();
      const std::string place =
          fmt::format("{},{},{}", csv_field(row.policy.text), settings.seed_of(run), order);
      for (std::size_t i = 0; i < row.runs[run].jobs.size(); ++i) {
        text += job_line(place, i + 1, row.runs[run].jobs[i]);
      }
    }
  }
  return text;
}

}  // namespace carpool::simulate
