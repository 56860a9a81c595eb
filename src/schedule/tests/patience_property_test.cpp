// The bound of docs/scheduling.md: how much later than under exclusive first-come-first-served a
// job ends in the order Fair.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr unsigned kFewGpus = 3;
constexpr PatienceRules kPatience{.wait_s = 300.0, .wait_runs = 5.0, .others = 3};

struct PlainJob {
  double submit_s = 0.0;
  double run_s = 0.0;
  unsigned gpus = 1;
  double start_s = -1.0;

  [[nodiscard]] double end_s() const { return start_s + run_s; }
  [[nodiscard]] double overdue_s() const {
    return submit_s + std::max(kPatience.wait_s, kPatience.wait_runs * run_s);
  }
};

// Nearly as much as the GPUs can do: a job that needs all of them is passed again and again.
std::vector<PlainJob> any_jobs() {
  constexpr std::size_t kJobs = 150;
  const auto waits = *rc::gen::container<std::vector<double>>(
      kJobs, rc::gen::element(0.0, 10.0, 10.0, 20.0, 20.0));
  const auto runs =
      *rc::gen::container<std::vector<double>>(kJobs, rc::gen::element(10.0, 20.0, 40.0));
  const auto gpus = *rc::gen::container<std::vector<unsigned>>(
      kJobs, rc::gen::element(1U, 1U, 1U, 1U, 1U, 1U, 1U, 1U, 2U, 3U));
  std::vector<PlainJob> jobs;
  double now = 0.0;
  for (std::size_t i = 0; i < kJobs; ++i) {
    now += waits[i];
    jobs.push_back({.submit_s = now, .run_s = runs[i], .gpus = gpus[i]});
  }
  return jobs;
}

// Each job has whole GPUs; its run time is told.
void run_fair(std::vector<PlainJob>& jobs) {
  StubServer server(kFewGpus, {.patience = kPatience});
  std::size_t submitted = 0;
  std::size_t ended = 0;
  std::vector<bool> over(jobs.size(), false);
  for (double now = 0.0; ended < jobs.size(); now += 10.0) {
    RC_ASSERT(now < 1e6);
    for (std::size_t i = 0; i < submitted; ++i) {
      if (!over[i] && jobs[i].start_s >= 0.0 && jobs[i].end_s() <= now) {
        server.end(static_cast<JobId>(i + 1), {.end = RunEnd::Succeeded}, now);
        over[i] = true;
        ++ended;
      }
    }
    for (; submitted < jobs.size() && jobs[submitted].submit_s <= now; ++submitted) {
      JobSpec spec = stub_job(40, jobs[submitted].run_s);
      spec.gpus = jobs[submitted].gpus;
      (void)server.submit(spec, now);
    }
    server.step(now);
    for (std::size_t i = 0; i < submitted; ++i) {
      if (jobs[i].start_s < 0.0 && server.runs(static_cast<JobId>(i + 1))) {
        jobs[i].start_s = now;
      }
    }
  }
}

void run_first_come_first_served(std::vector<PlainJob>& jobs) {
  std::vector<double> free_s(kFewGpus, 0.0);
  double last_s = 0.0;
  for (PlainJob& job : jobs) {
    std::ranges::sort(free_s);
    job.start_s = std::max({job.submit_s, last_s, free_s[job.gpus - 1]});
    std::fill_n(free_s.begin(), job.gpus, job.end_s());
    last_s = job.start_s;
  }
}

RC_GTEST_PROP(Patience, NoJobEndsLaterThanTheBoundAfterFirstComeFirstServed, ()) {
  std::vector<PlainJob> fair = any_jobs();
  std::vector<PlainJob> plain = fair;
  run_fair(fair);
  run_first_come_first_served(plain);
  double longest = 0.0;
  for (const PlainJob& job : fair) {
    longest = std::max(longest, job.run_s);
  }
  for (std::size_t i = 0; i < fair.size(); ++i) {
    const auto before = std::ranges::count_if(fair, [&](const PlainJob& other) {
      return other.overdue_s() < fair[i].overdue_s() && other.start_s >= fair[i].overdue_s();
    });
    constexpr double kStep = 10.0;  // of the loop above, for each start and each end
    const double turns = static_cast<double>(before + 1) * (kPatience.others + 1);
    const double bound = fair[i].overdue_s() - fair[i].submit_s + turns * (longest + 2.0 * kStep);
    RC_ASSERT(fair[i].end_s() <= plain[i].end_s() + bound);
  }
}

}  // namespace
}  // namespace carpool::schedule
