#include "serve/advice/dry_run_view.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/job_names.hpp"
#include "serve/advice/explanation_view.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

std::string_view basis_name(NeedBasis basis) {
  switch (basis) {
    case NeedBasis::Unknown:
      break;
    case NeedBasis::Told:
      return "told";
    case NeedBasis::Estimated:
      return "estimated";
    case NeedBasis::Seen:
      return "seen";
    case NeedBasis::Finished:
      return "finished";
    case NeedBasis::Failure:
      return "failure";
  }
  return "unknown";
}

json memory_view(const schedule::DryRun& answer) {
  const QueuedJob& job = answer.arrival.job;
  json view = {{"text", answer.memory}, {"basis", basis_name(job.need_basis)}};
  if (job.need_bytes) {
    view["need_bytes"] = *job.need_bytes;
  }
  return view;
}

json placement_view(const Placement& placement) {
  json view = {{"gpus", placement.gpus},
               {"mechanism", name_of(placement.mechanism)},
               {"thread_limit_percent", placement.thread_limit},
               {"reserved_bytes", placement.reserve_bytes},
               {"reason", placement.reason}};
  if (placement.cap_bytes) {
    view["cap_bytes"] = *placement.cap_bytes;
  }
  return view;
}

json neighbour_view(const schedule::Neighbour& neighbour,
                    const schedule::Scheduler& scheduler,
                    const Caller& caller) {
  json view = {{"id", neighbour.job}, {"paused", neighbour.paused}};
  if (const JobRecord* job = scheduler.find(neighbour.job); job != nullptr) {
    view["user"] = job->owner.user;
    if (caller.may_touch(job->owner)) {
      view["name"] = job->spec.name.empty() && !job->spec.argv.empty() ? job->spec.argv.front()
                                                                       : job->spec.name;
    }
  }
  if (neighbour.now) {
    view["prediction_now"] = forecast_view(*neighbour.now);
  }
  if (neighbour.then) {
    view["prediction"] = forecast_view(*neighbour.then);
  }
  return view;
}

// The number by which the scheduler knows the job for now is that of no job.
json candidate_of_none(const schedule::CandidateGpu& candidate, JobId asked) {
  json view = candidate_view(candidate);
  for (std::size_t i = 0; i < candidate.latencies.size(); ++i) {
    if (candidate.latencies[i].job == asked) {
      view["latencies"][i].erase("job");
    }
  }
  return view;
}

std::string dry_run_summary(const schedule::DryRun& answer, const Result<void>& place) {
  const schedule::Arrival& arrival = answer.arrival;
  if (!place) {
    return fmt::format("Would be refused: {}", place.error().message);
  }
  if (arrival.cancelled) {
    return fmt::format("Would be cancelled at once: {}", arrival.cancelled->reason);
  }
  if (!arrival.starts) {
    return fmt::format("Would wait: {}", arrival.waits ? arrival.waits->reason : "");
  }
  std::vector<JobId> beside;
  std::ranges::transform(answer.neighbours, std::back_inserter(beside), &schedule::Neighbour::job);
  return fmt::format("Would start now on GPU {}{}{}",
                     fmt::join(arrival.starts->gpus, ", "),
                     beside.empty()       ? ", with no other job"
                     : beside.size() == 1 ? ", beside job "
                                          : ", beside jobs ",
                     fmt::join(beside, ", "));
}

// When at the earliest: the jobs that it would have to wait for run at their solo speed until then.
void add_wait(json& view, const schedule::DryRun& answer) {
  const schedule::Arrival& arrival = answer.arrival;
  const Deferral& why = arrival.cancelled ? *arrival.cancelled : *arrival.waits;
  view["constraint"] = name_of(why.constraint);
  view["reason"] = why.reason;
  view["jobs_ahead"] = arrival.ahead;
  const auto wait = std::ranges::find(
      answer.changes, schedule::StartingChange::Kind::Wait, &schedule::StartingChange::kind);
  if (wait != answer.changes.end()) {
    view["earliest_start_in_s"] = *wait->wait_s;
    view["earliest_after_job"] = *wait->until_ends;
  }
}

}  // namespace

json dry_run_view(const schedule::DryRun& answer,
                  const schedule::Scheduler& scheduler,
                  const Caller& caller,
                  std::size_t jobs,
                  const Result<void>& place) {
  const schedule::Arrival& arrival = answer.arrival;
  json view = {{"version", 1},
               {"accepted", place.has_value()},
               {"summary", dry_run_summary(answer, place)},
               {"jobs", jobs},
               {"memory", memory_view(answer)},
               {"activity", answer.activity},
               {"starts_now", arrival.starts.has_value() && place.has_value()},
               {"neighbours", json::array()},
               {"candidates", json::array()},
               {"changes", json::array()}};
  if (!place) {
    view["refusal"] = {{"kind", name_of(place.error().code)}, {"message", place.error().message}};
  }
  if (arrival.starts) {
    view["placement"] = placement_view(*arrival.starts);
  } else {
    add_wait(view, answer);
  }
  if (answer.speed) {
    view["prediction"] = forecast_view(*answer.speed);
  }
  for (const schedule::Neighbour& neighbour : answer.neighbours) {
    view["neighbours"].push_back(neighbour_view(neighbour, scheduler, caller));
  }
  for (const schedule::CandidateGpu& candidate : answer.candidates) {
    view["candidates"].push_back(candidate_of_none(candidate, arrival.job.job));
  }
  for (const schedule::StartingChange& change : answer.changes) {
    view["changes"].push_back(change_view(change));
  }
  return view;
}

}  // namespace carpool::serve
