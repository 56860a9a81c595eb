// Job events for the tests of journals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/job_event.hpp"
#include "core/job_journal.hpp"

namespace carpool {

inline JobEvent job_event(JobId job, double at_s, decltype(JobEvent::what) what) {
  return {.job = job, .at_s = at_s, .what = std::move(what)};
}

inline JobEvent submitted_event(JobId job, double at_s, const std::string& workload = "w") {
  return job_event(job,
                   at_s,
                   JobSubmitted{.spec = {.name = "n", .argv = {"a"}, .workload = workload},
                                .owner = {.uid = 1000, .user = "u"}});
}

// A job that was submitted, ran for 100 s and ended.
inline std::vector<JobEvent> whole_life(JobId job, double at_s, RunEnd end = RunEnd::Succeeded) {
  return {submitted_event(job, at_s),
          job_event(job, at_s + 1.0, JobStarted{.attempt = 1, .gpus = {0}}),
          job_event(
              job, at_s + 101.0, JobEnded{.attempt = 1, .exit = {.end = end}, .peak_bytes = 1000}),
          job_event(job, at_s + 101.0, JobClosed{.end = end, .reason = "r"})};
}

inline Result<std::vector<JobEvent>> replayed_events(const JobJournal& journal) {
  std::vector<JobEvent> events;
  return journal.replay([&](const JobEvent& event) { events.push_back(event); }).map([&] {
    return std::move(events);
  });
}

}  // namespace carpool
