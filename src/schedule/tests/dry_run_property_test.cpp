// Random lives of jobs: a dry run changes nothing, and a submission at the same moment does what it
// said.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/job_names.hpp"
#include "schedule/advice/dry_run.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

// All that the scheduler answers.
std::string answers(const StubServer& server) {
  const Scheduler& scheduler = *server.scheduler;
  std::string text = fmt::format("{} events, {} waiting, wakes at {}",
                                 server.journal.events.size(),
                                 scheduler.waiting(),
                                 scheduler.next_wakeup_s().value_or(-1.0));
  for (const JobId job : scheduler.jobs()) {
    const auto why = explain(scheduler, job);
    text += fmt::format("\n{} {} {}", job, why->summary, why->memory);
    for (const CandidateGpu& candidate : why->candidates) {
      text += fmt::format("; GPU {} {} {}", candidate.gpu, candidate.takes_it, candidate.reason);
    }
  }
  return text;
}

JobSpec random_job(unsigned number) {
  JobSpec spec = stub_job(1 + number % 40, 10.0 + number % 7 * 100.0);
  spec.gpus = number % 11 == 0 ? 2 : 1;
  spec.exclusive = number % 13 == 0;
  spec.priority = -static_cast<int>(number % 3);
  if (number % 5 == 0) {
    spec.mem_bytes.reset();
  }
  return spec;
}

std::string seen(const JobRecord& job) {
  return job.running() == nullptr
             ? std::string("waits")
             : fmt::format("starts on {}", fmt::join(job.running()->start.gpus, "+"));
}

std::string said(const DryRun& answer) {
  return answer.arrival.starts
             ? fmt::format("starts on {}", fmt::join(answer.arrival.starts->gpus, "+"))
             : std::string("waits");
}

TEST(DryRunProperty, ADryRunChangesNothingAndASubmissionDoesWhatItSaid) {
  rc::check([](const std::vector<std::pair<unsigned, bool>>& turns) {
    StubServer server(2, {.depth = 4, .backfill = turns.size() % 2 == 0});
    double now_s = 0.0;
    for (const auto& [number, ends] : turns) {
      now_s += 1.0 + number % 600;
      server.step(now_s);
      if (ends && !server.executor.running.empty()) {
        server.end(server.executor.running.begin()->first.job, {.end = RunEnd::Succeeded}, now_s);
      }
      const std::string before = answers(server);
      const JobSpec spec = random_job(number);
      const std::uint32_t uid = 1000 + number % 3;
      const auto answer =
          dry_run(*server.scheduler, spec, {.uid = uid, .user = fmt::format("u{}", uid)}, false);
      RC_ASSERT(answer.has_value());
      RC_ASSERT(answers(server) == before);
      const JobId job = server.submit(spec, now_s, uid);
      server.step(now_s);
      RC_ASSERT(answer->arrival.job.job == job);
      RC_ASSERT(seen(server.record(job)) == said(*answer));
    }
  });
}

}  // namespace
}  // namespace carpool::schedule
