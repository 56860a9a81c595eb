// The jobs that may start, and what there is to decide about them: whether anything changed since
// the policy was last asked, its last answers, and the GPUs reserved for the first job in line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/placement_policy.hpp"
#include "schedule/job_needs.hpp"
#include "schedule/job_table.hpp"
#include "schedule/scheduler_settings.hpp"
#include "schedule/waiting_line.hpp"

namespace carpool::schedule {

// GPUs that run empty for one job. Other jobs get them only if they are gone before `until_s`.
struct FrontReservation {
  JobId job = 0;  // 0: none
  std::vector<unsigned> gpus{};
  double until_s = 0.0;  // when the GPUs are expected to be empty

  [[nodiscard]] std::string words() const;  // why other jobs do not get them
};

// What has to be decided again.
enum class Look {
  Nothing,     // nothing changed
  Newcomers,   // jobs came, and nothing else changed
  Everything,  // GPUs or settings changed
};

class Backlog {
 public:
  // `needs` outlives it.
  Backlog(const SchedulerSettings& settings, const JobNeeds& needs)
      : recovery_(settings.recovery), needs_(needs), line_(settings.order, settings.patience) {}

  // Does nothing for a job that may not start: held, or waiting for other jobs. A job whose time
  // has not come, or whose array runs enough jobs, waits aside.
  void enter(LiveJob& job, double now_s);
  // The job starts, ends or is held.
  void leave(const LiveJob& job);
  // Whether the job is in line or waits aside.
  [[nodiscard]] bool contains(const LiveJob& job) const;
  // Jobs that wait aside enter the line when they may.
  void enter_due(double now_s);
  // When the next of them may by its time; empty: none waits for that.
  [[nodiscard]] std::optional<double> next_begin_s() const;
  // When this job, which waits for its time, may; empty: it does not.
  [[nodiscard]] std::optional<double> begins_s(JobId job) const;
  // The job waits because enough jobs of its array are in line or run.
  [[nodiscard]] bool array_is_full(const LiveJob& job) const;

  // After an attempt of this job, which taught how long its workload takes: jobs that wait and are
  // expected to take another time than before get another place.
  void learned(const LiveJob& ended);

  [[nodiscard]] WaitingLine& line() { return line_; }
  [[nodiscard]] const WaitingLine& line() const { return line_; }
  // What the place of this job in the line depends on.
  [[nodiscard]] Waiting waiting_of(const LiveJob& job) const;
  // Brings the job's view, which the policy sees, up to date.
  void update_view(LiveJob& job, double now_s) const;

  void look_at(Look what);
  [[nodiscard]] Look look() const { return look_; }
  // Jobs that came since the last decision, by id.
  [[nodiscard]] std::vector<JobId> newcomers() const;
  [[nodiscard]] std::size_t newcomer_count() const { return newcomers_.size(); }
  // Everything that there was to decide is decided.
  void decided();

  void reserve(FrontReservation reservation) { reservation_ = std::move(reservation); }
  [[nodiscard]] const FrontReservation& reservation() const { return reservation_; }

  void clear_deferrals() { deferrals_.clear(); }
  // Ignored for a job that does not wait.
  void defer(const Deferral& deferral);
  [[nodiscard]] const Deferral* deferral(JobId job) const;
  // Since the start, and of the jobs that wait now.
  [[nodiscard]] const std::map<Constraint, std::uint64_t>& deferrals_made() const {
    return deferrals_made_;
  }
  [[nodiscard]] std::map<Constraint, std::uint64_t> deferred_now() const;

 private:
  // False: the job waits aside.
  [[nodiscard]] bool pass_aside(LiveJob& job, double now_s);
  void leave_aside(const LiveJob& job);
  void put_in_line(LiveJob& job);
  void place_again(const std::set<JobId>& jobs);

  RecoveryRule recovery_;
  const JobNeeds& needs_;
  WaitingLine line_;
  struct Placed {
    LiveJob* job = nullptr;
    double expected_s = 0.0;  // run time that its place follows
  };
  std::unordered_map<JobId, Placed> placed_;                    // all that are in line_
  std::unordered_map<std::string, std::set<JobId>> same_work_;  // by workload
  std::unordered_map<std::uint32_t, std::set<JobId>> guessed_;  // by user: run time not known
  struct Later {
    LiveJob* job = nullptr;
    double begin_s = 0.0;
  };
  std::unordered_map<JobId, Later> later_;     // wait for their time
  std::set<std::pair<double, JobId>> begins_;  // the same, by that time
  struct LimitedArray {
    std::set<JobId> inside{};           // in line or running
    std::map<JobId, LiveJob*> aside{};  // the others that may start
  };
  std::map<JobId, LimitedArray> arrays_;  // with a limit, by their first job
  std::set<JobId> arrays_left_;           // by a job since enter_due()
  std::set<JobId> alone_first_;           // wait for a whole GPU under the recovery rule of CARMA
  Look look_ = Look::Nothing;
  std::vector<JobId> newcomers_;
  FrontReservation reservation_;
  std::unordered_map<JobId, Deferral> deferrals_;
  std::map<Constraint, std::uint64_t> deferrals_made_;
};

}  // namespace carpool::schedule
