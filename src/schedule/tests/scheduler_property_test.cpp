// Random commands, ends, observations and crashes: the state is always what replaying the journal
// gives, no attempt starts twice, no job starts without room, no job is stuck.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/job_names.hpp"
#include "core/json/job_json.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr unsigned kGpus = 3;
constexpr unsigned kTurns = 14;  // kinds

// All of a record that a user can see.
std::string digest(const JobRecord& job) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {} {}",
                                 job.id,
                                 name_of(job.state),
                                 job.submitted_s,
                                 job.queued_s,
                                 job.ended_s.value_or(-1.0),
                                 job.reason,
                                 job.reserve_bytes.value_or(0),
                                 job.exclusive,
                                 job.out_of_memory,
                                 job.stop_by);
  for (const JobAttempt& attempt : job.attempts) {
    text += fmt::format(" [{} {} {} {} {} {} {} {} {}]",
                        attempt.start.attempt,
                        fmt::join(attempt.start.gpus, "+"),
                        attempt.started_s,
                        attempt.ended_s.value_or(-1.0),
                        name_of(attempt.exit.end),
                        attempt.pauses,
                        attempt.paused_s,
                        attempt.pause ? attempt.pause_began_s : -1.0,
                        attempt.processes);
  }
  return text;
}

std::map<JobId, std::string> digests(const Scheduler& scheduler) {
  std::map<JobId, std::string> all;
  for (const JobId job : scheduler.jobs()) {
    all.emplace(job, digest(*scheduler.find(job)));
  }
  return all;
}

// Reports every attempt as still running: a replay with it adds no events.
class AllRunning final : public Executor {
 public:
  Launched launch(const LaunchSpec& /*spec*/) override { return {}; }
  void stop(RunId /*run*/, StopMode /*mode*/) override {}
  void pause(RunId /*run*/) override {}
  void resume(RunId /*run*/) override {}
  std::vector<RunReport> take_reports() override { return {}; }
  Result<FoundRun> find(const LaunchSpec& /*spec*/) override {
    return FoundRun{.state = FoundRun::State::Running};
  }
};

struct Turn {
  unsigned kind = 0;
  unsigned which = 0;
  unsigned amount = 0;
};

std::ostream& operator<<(std::ostream& out, const Turn& turn) {
  return out << turn.kind << '/' << turn.which << '/' << turn.amount;
}

class RandomLife {
 public:
  explicit RandomLife(RecoveryRule rule, QueueOrder order)
      : server_(kGpus, {.order = order, .recovery = rule, .max_out_of_memory = 3, .depth = 4}) {}

  void play(const Turn& turn) {
    now_ += 1.0 + turn.amount % 50;
    const auto before = server_.executor.begun;
    act(turn);
    server_.step(now_);
    RC_ASSERT(server_.flushed.has_value());
    check_room();
    check_troubles();
    if (turn.kind % kTurns == 11) {
      crash(before, turn);
    }
    seen_.emplace_back(server_.journal.events.size(), digests(*server_.scheduler));
    check_runs();
    check_pauses();
  }

  // Releases and ends all jobs: a job that is left then is stuck.
  void finish() {
    server_.executor.trouble.reset();
    for (int i = 0; i < 1000 && !all_over(); ++i) {
      now_ += 20'000.0;  // longer than any patience
      for (const JobId job : server_.scheduler->jobs()) {
        (void)server_.scheduler->release(job, now_);
      }
      for (const auto& [run, spec] : std::map(server_.executor.running)) {
        server_.executor.end(run, {.end = RunEnd::Succeeded});
      }
      server_.step(now_);
    }
    RC_ASSERT(all_over());
    RC_ASSERT(!server_.executor.launched_twice);
  }

  void check_prefixes() const {
    for (const auto& [count, expected] : seen_) {
      StubJournal prefix;
      prefix.events.assign(server_.journal.events.begin(),
                           server_.journal.events.begin() + static_cast<std::ptrdiff_t>(count));
      AllRunning executor;
      Scheduler replayed(server_.settings,
                         stub_gpus(kGpus),
                         server_.policy,
                         server_.interference,
                         prefix,
                         executor);
      RC_ASSERT(replayed.recover(0.0).has_value());
      RC_ASSERT(digests(replayed) == expected);
    }
  }

 private:
  void act(const Turn& turn) {
    server_.executor.trouble.reset();
    if (turn.which % 10 == 9) {
      server_.executor.trouble = turn.amount % 2 == 0 ? TroubleScope::Machine : TroubleScope::Gpus;
    }
    switch (turn.kind % kTurns) {
      case 0:
      case 1:
      case 2:
        submit(turn);
        return;
      case 3:
        (void)server_.scheduler->cancel(some_job(turn), "ann", now_);
        return;
      case 4:
        (void)server_.scheduler->hold(some_job(turn), now_);
        return;
      case 5:
        (void)server_.scheduler->release(some_job(turn), now_);
        return;
      case 6:
        (void)server_.scheduler->requeue(some_job(turn), now_);
        return;
      case 7:
        observe(turn);
        return;
      case 8:
        now_ += 40.0;  // past grace, time limits
        return;
      case 12:
        server_.policy.pause = {{.job = some_job(turn), .cause = PauseCause::Interference}};
        observe(turn);
        return;
      case 13:
        server_.policy.resume = {{.job = some_job(turn)}};
        observe(turn);
        return;
      default:
        end_one(turn);
    }
  }

  void submit(const Turn& turn) {
    JobSpec spec = stub_job(1 + turn.amount % 40, 10.0 + turn.amount);
    spec.gpus = turn.which % 5 == 0 ? 2 : 1;
    spec.exclusive = turn.which % 7 == 0;
    spec.retries = turn.which % 3;
    spec.priority = static_cast<int>(turn.which % 2);
    if (turn.which % 4 == 0) {
      spec.mem_bytes.reset();
    }
    if (turn.which % 6 == 0) {
      spec.time_s = 30.0;
    }
    if (turn.which % 3 == 0 && server_.scheduler->jobs().size() > 1) {
      spec.after = {some_job(turn)};
    }
    RC_ASSERT(server_.submit(spec, now_, 1000 + turn.which % 3) != 0);
  }

  [[nodiscard]] JobId some_job(const Turn& turn) const {
    const auto jobs = server_.scheduler->jobs();
    return jobs.empty() ? 1 : jobs[turn.which % jobs.size()];
  }

  void observe(const Turn& turn) {
    const GpuView& view = server_.scheduler->gpus()[turn.which % kGpus];
    GpuObservation observation{.gpu = view.index};
    for (const Resident& resident : view.residents) {
      // At times more than is reserved.
      const std::uint64_t bytes = resident.reserved_bytes * 4 / (3 + turn.amount % 9);
      observation.jobs.push_back({.job = resident.job, .bytes = bytes});
      observation.used_bytes += bytes;
    }
    server_.scheduler->observe(observation, now_);
  }

  void end_one(const Turn& turn) {
    auto& running = server_.executor.running;
    if (running.empty()) {
      return;
    }
    const RunId run =
        std::next(running.begin(), static_cast<std::ptrdiff_t>(turn.which % running.size()))->first;
    const RunEnd ends[] = {RunEnd::Succeeded,
                           RunEnd::Failed,
                           RunEnd::OutOfMemory,
                           RunEnd::MpsFault,
                           RunEnd::HostOutOfMemory,
                           RunEnd::Lost,
                           RunEnd::Succeeded,
                           RunEnd::OutOfMemory,
                           RunEnd::MachineTrouble};
    const TroubleScope scopes[] = {
        TroubleScope::Job, TroubleScope::User, TroubleScope::Gpus, TroubleScope::Machine};
    RunExit exit{.end = ends[turn.amount % 9], .at_s = now_};
    if (exit.end == RunEnd::MachineTrouble) {
      exit.scope = scopes[turn.which % 4];
    }
    server_.executor.end(run, exit);
  }

  // No job ends because of the machine, and its troubles count for nothing.
  void check_troubles() const {
    for (const JobId job : server_.scheduler->jobs()) {
      const JobRecord& record = server_.record(job);
      RC_ASSERT(record.end != RunEnd::MachineTrouble);
      RC_ASSERT(record.out_of_memory == record.ends(RunEnd::OutOfMemory));
      if (record.end == RunEnd::Failed) {
        RC_ASSERT(record.ends(RunEnd::Failed) + record.ends(RunEnd::HostOutOfMemory) ==
                  record.spec.retries + 1);
      }
      const bool ended_so = !record.attempts.empty() && record.attempts.back().ended_s &&
                            record.attempts.back().exit.end == RunEnd::MachineTrouble;
      RC_ASSERT(!ended_so || !record.over() || record.end == RunEnd::Cancelled);
    }
  }

  // Killed after the journal was written: some of the launches that followed did not happen, some
  // reports were never taken.
  void crash(const std::set<RunId>& before, const Turn& turn) {
    for (const RunId& run : std::set(server_.executor.begun)) {
      if (!before.contains(run) && turn.amount % 2 == 0) {
        server_.executor.running.erase(run);
        server_.executor.begun.erase(run);
      }
    }
    server_.executor.reports.clear();
    server_.restart(now_);
    RC_ASSERT(server_.recovered.has_value());
    RC_ASSERT(server_.flushed.has_value());
  }

  // Jobs that started in this turn found room.
  void check_room() const {
    for (const GpuView& gpu : server_.scheduler->gpus()) {
      std::uint64_t reserved = 0;
      bool joined = false;
      for (const Resident& resident : gpu.residents) {
        reserved += resident.reserved_bytes;
        joined = joined || resident.started_s == now_;
        RC_ASSERT(gpu.residents.size() == 1 || !resident.exclusive);
      }
      // A restart forgets peaks, so that old reservations may come back beside later jobs; no job
      // joins then.
      RC_ASSERT(!joined || reserved <= gpu.memory_bytes);
    }
  }

  // Who stands still is what the record says.
  void check_pauses() const {
    for (const auto& [run, spec] : server_.executor.running) {
      const JobRecord& record = server_.record(run.job);
      const bool paused = record.running()->pause.has_value();
      RC_ASSERT(server_.executor.paused.contains(run) == paused);
      RC_ASSERT(!paused || (record.spec.job_class != JobClass::Slo &&
                            record.running()->start.gpus.size() == 1));
    }
  }

  void check_runs() const {
    RC_ASSERT(!server_.executor.launched_twice);
    for (const GpuView& gpu : server_.scheduler->gpus()) {
      for (const Resident& resident : gpu.residents) {
        RC_ASSERT(server_.record(resident.job).running() != nullptr);
      }
    }
    for (const auto& [run, spec] : server_.executor.running) {
      const JobAttempt* attempt = server_.record(run.job).running();
      RC_ASSERT(attempt != nullptr && attempt->start.attempt == run.attempt);
    }
  }

  [[nodiscard]] bool all_over() const {
    return std::ranges::all_of(server_.scheduler->jobs(),
                               [&](JobId job) { return server_.record(job).over(); });
  }

  StubServer server_;
  double now_ = 0.0;
  std::vector<std::pair<std::size_t, std::map<JobId, std::string>>> seen_;
};

}  // namespace
}  // namespace carpool::schedule

namespace rc {
template <>
struct Arbitrary<carpool::schedule::Turn> {
  static Gen<carpool::schedule::Turn> arbitrary() {
    return gen::build<carpool::schedule::Turn>(
        gen::set(&carpool::schedule::Turn::kind, gen::inRange(0U, carpool::schedule::kTurns)),
        gen::set(&carpool::schedule::Turn::which, gen::inRange(0U, 840U)),
        gen::set(&carpool::schedule::Turn::amount, gen::inRange(0U, 840U)));
  }
};
}  // namespace rc

namespace carpool::schedule {
namespace {

TEST(SchedulerProperty, StateIsWhatTheJournalGivesAndNothingIsLostOrRunTwice) {
  EXPECT_TRUE(rc::check("a random life", [] {
    const auto rule =
        *rc::gen::element(RecoveryRule::Reserve, RecoveryRule::Carma, RecoveryRule::Aegis);
    const auto order = *rc::gen::element(
        QueueOrder::Fair, QueueOrder::Fifo, QueueOrder::Shortest, QueueOrder::Hrrn);
    RandomLife life(rule, order);
    for (const Turn& turn : *rc::gen::container<std::vector<Turn>>(rc::gen::arbitrary<Turn>())) {
      life.play(turn);
    }
    life.check_prefixes();
    life.finish();
  }));
}

TEST(SchedulerProperty, AnyEventIsTheSameAfterWritingAndReading) {
  EXPECT_TRUE(rc::check("events of a random life", [] {
    JobEvent event{.job = *rc::gen::inRange<JobId>(1, 1'000'000),
                   .at_s = *rc::gen::arbitrary<int>() / 8.0};
    event.what = JobRequeued{.reason = *rc::gen::container<std::string>(rc::gen::inRange(' ', '~')),
                             .reserve_bytes = *rc::gen::arbitrary<std::uint64_t>(),
                             .exclusive = *rc::gen::arbitrary<bool>()};
    const std::string line = event_line(event);
    const auto read = parse_event(line, "event");
    RC_ASSERT(read.has_value());
    RC_ASSERT(event_line(*read) == line);
  }));
}

}  // namespace
}  // namespace carpool::schedule
