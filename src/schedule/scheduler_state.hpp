// What the scheduler knows. Private to scheduler.hpp; split over several files by what happens:
// submission.cpp, starting.cpp, ending.cpp, restart.cpp.
//
// Every change of a job's life is an event. make() changes the state at once, so that what follows
// in the same batch sees it, and queues the event for the journal; absorb() is that change, and the
// same for an event of now and for one of the journal. Nothing else changes a JobRecord.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/job_history.hpp"
#include "schedule/attempt_outcome.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

struct SchedulerState {
  SchedulerState(const SchedulerSettings& chosen,
                 std::vector<GpuView> gpus,
                 const PlacementPolicy& placement,
                 const InterferenceModel& model,
                 JobJournal& events,
                 Executor& runner)
      : settings(chosen),
        policy(placement),
        interference(model),
        journal(events),
        executor(runner),
        occupancy(std::move(gpus), model, chosen.peak_stable_s),
        line(chosen.order, chosen.patience) {}

  // A job that is not over.
  struct Live {
    JobRecord* record = nullptr;
    QueuedJob view{};       // what the policy sees
    std::string key{};      // workload_key()
    std::size_t after = 0;  // jobs that it still waits for
    double eligible_s = 0.0;
    std::optional<double> timer_s{};  // in `limits` or in `kills`
    // What the view's need was made from.
    std::uint64_t history_seen = 0;
    std::optional<std::uint64_t> reserve_seen{};
    bool needs_all = false;
  };
  // To be done once the events are durable.
  struct Order {
    enum class Kind { Launch, Ask, Kill } kind = Kind::Launch;
    RunId run{};
  };
  // What there is to decide: nothing changed; only jobs came; anything.
  enum class Look { Nothing, Newcomers, Everything };
  using Timers = std::set<std::pair<double, JobId>>;

  // scheduler_state.cpp
  void make(JobId job, decltype(JobEvent::what) what, double at_s);
  [[nodiscard]] Result<void> absorb(const JobEvent& event);
  [[nodiscard]] Live* live(JobId job);
  [[nodiscard]] Result<Live*> live_or_error(JobId job);
  void look_at(Look what);
  void line_up(Live& job);
  void leave_line(Live& job);
  void update_view(Live& job, double at_s);
  void update_need(Live& job);
  // Of the largest GPU: what a job can hope for.
  [[nodiscard]] std::uint64_t usable_bytes() const;
  [[nodiscard]] static double charged_speed(const JobStarted& start);
  void drop_timers(Live& job);
  [[nodiscard]] Result<void> absorb_submitted(JobRecord& record);
  void absorb_started(Live& job, double at_s);
  void absorb_ended(Live& job, double at_s);
  void absorb_closed(Live& job, RunEnd end, double at_s);

  // submission.cpp
  [[nodiscard]] Result<void> check(const JobSpec& spec) const;
  [[nodiscard]] Result<std::optional<RunEnd>> outcome(JobId job) const;
  void close_doomed(double at_s);

  // starting.cpp
  void decide(double at_s);
  void decide_all(double at_s);
  void decide_newcomers(double at_s);
  [[nodiscard]] std::size_t decide_front(const WaitingLine::Front& front, double at_s);
  [[nodiscard]] WaitingLine::Front front(std::size_t most, double at_s);
  [[nodiscard]] std::size_t ask_policy(std::span<const JobId> jobs, double at_s);
  [[nodiscard]] std::size_t ask_beside_kept(std::span<const JobId> jobs, double at_s);
  void keep_gpus_for(const Live& job, double at_s);
  [[nodiscard]] bool start(const Placement& placement, double at_s);
  [[nodiscard]] LaunchSpec launch_spec(const JobRecord& job) const;

  // ending.cpp
  void take_reports(double at_s);
  void end_run(Live& job, RunExit exit, double at_s);
  void follow_up(Live& job, double at_s);
  void ask_to_stop(Live& job, const std::string& by, bool final, double at_s);
  void enforce_time(double at_s);
  [[nodiscard]] OutcomeRules outcome_rules() const;

  // restart.cpp
  [[nodiscard]] Result<void> recover(double at_s);
  void find_again(Live& job, double at_s);

  [[nodiscard]] Result<void> flush();
  void carry_out(const Order& order);

  SchedulerSettings settings;
  const PlacementPolicy& policy;
  const InterferenceModel& interference;
  JobJournal& journal;
  Executor& executor;
  std::function<void(const JobEvent&)> listener{};

  std::map<JobId, JobRecord> records{};
  std::unordered_map<JobId, Live> living{};
  std::deque<JobId> ended{};  // in that order, of those in `records`
  std::unordered_map<JobId, std::vector<JobId>> dependants{};
  std::vector<std::pair<JobId, JobId>> doomed{};  // waits for the second, which did not succeed
  std::unordered_map<std::uint32_t, std::size_t> jobs_of_user{};
  JobId last_job = 0;

  Occupancy occupancy;
  WaitingLine line;
  FairUsage usage{};
  JobHistory history{};
  bool learning = true;  // off while events are replayed that `history` knows
  std::uint64_t history_version = 1;
  std::set<JobId> alone_first{};  // wait for a whole GPU under the rule of CARMA

  Timers limits{};  // of running jobs
  Timers kills{};   // of jobs that were asked to stop
  double now_s = 0.0;
  bool draining = false;
  Look look = Look::Nothing;
  std::vector<JobId> newcomers{};
  std::optional<double> ask_again_s{};
  double decided_s = -1.0;       // when last
  std::vector<unsigned> kept{};  // GPUs withheld for kept_for
  JobId kept_for = 0;
  double kept_until_s = 0.0;  // when they are expected to be free
  std::unordered_map<JobId, Deferral> deferrals{};

  std::vector<JobEvent> pending{};
  std::vector<Order> orders{};
  std::optional<Error> broken{};  // an event of our own did not fit: a bug; flush() says so
};

}  // namespace carpool::schedule
