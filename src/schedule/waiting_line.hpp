// The jobs that may start, in the order in which they are considered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/job.hpp"
#include "schedule/queue_order.hpp"

namespace carpool::schedule {

// In the order Fair: how long a job waits until it goes before all others.
struct PatienceRules {
  double wait_s = 4.0 * 3600.0;  // at least this long
  double wait_runs = 5.0;        // and at least this many times its run time
  // Jobs that start between two impatient ones: where more work comes than the machine can do, all
  // jobs become impatient, and their order still matters.
  unsigned others = 3;
};

// What the order depends on; does not change while the job waits.
struct Waiting {
  JobId job = 0;
  std::uint32_t uid = 0;
  JobClass job_class = JobClass::Normal;
  int priority = 0;
  bool recovering = false;  // goes before its equals
  bool first = false;       // goes before all jobs
  unsigned gpus = 1;
  double since_s = 0.0;
  double expected_s = 0.0;  // run time
};

// Entering and leaving cost O(log n); the first k cost O(k log k) plus one step per lane. A lane
// has the jobs of one user, rank and run time (to within 2 %), whose order never changes.
class WaitingLine {
 public:
  // Weight of a user in the order Fair.
  using UserWeight = std::function<double(std::uint32_t)>;

  WaitingLine(QueueOrder order, const PatienceRules& patience)
      : order_(order), patience_(patience) {}

  void enter(const Waiting& job);
  void leave(JobId job);
  [[nodiscard]] bool contains(JobId job) const { return places_.contains(job); }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

  // In a line that is many times longer than `most`, the order may be some seconds old; jobs that
  // entered since are in their place.
  struct Front {
    std::vector<JobId> jobs{};  // the first `most`, in their order
    // One of these goes before all others, the first that can; each of them is in the line too.
    // Empty unless it is the turn of impatient jobs: after one of them started,
    // PatienceRules::others other jobs start before the next one does.
    std::vector<JobId> impatient{};
  };
  [[nodiscard]] Front front(std::size_t most, double now_s, const UserWeight& weight);

  // The jobs that would go before this one, which is not in the line; changes nothing. Impatience
  // does not count. One step per job of the line.
  struct Ahead {
    std::size_t count = 0;
    std::vector<JobId> first{};  // at most `most` of them, in their order
  };
  [[nodiscard]] Ahead ahead_of(const Waiting& job,
                               std::size_t most,
                               double now_s,
                               const UserWeight& weight) const;

  // A job of the line starts; took_turn(): as an impatient one, before all others.
  void started() { others_left_ -= others_left_ > 0 ? 1 : 0; }
  void took_turn() { others_left_ = patience_.others; }

  // When the next job becomes impatient, after now_s.
  [[nodiscard]] std::optional<double> next_impatient_s(double now_s) const;

 private:
  // Ranks are served one after the other.
  using Rank = std::tuple<bool, int, int, bool>;
  struct LaneKey {
    Rank rank{};
    std::uint32_t uid = 0;
    int runtime_step = 0;
    auto operator<=>(const LaneKey&) const = default;
  };
  using Lane = std::set<std::pair<double, JobId>>;
  using Lanes = std::map<LaneKey, Lane>;
  struct Place {
    Lanes::iterator lane;
    double key = 0.0;
    double runtime_s = 0.0;
    double since_s = 0.0;
    double impatient_s = std::numeric_limits<double>::infinity();
  };
  struct Head;

  [[nodiscard]] LaneKey lane_of(const Waiting& job, double runtime_s) const;
  [[nodiscard]] double key_of(const Waiting& job, double runtime_s) const;
  [[nodiscard]] double impatient_at(const Waiting& job, double runtime_s) const;
  [[nodiscard]] double score(const Place& place, double now_s, double weight) const;
  [[nodiscard]] std::vector<JobId> sorted(std::size_t most, double now_s, const UserWeight& weight);
  void add_rank(Lanes::const_iterator first,
                Lanes::const_iterator last,
                std::size_t most,
                double now_s,
                const UserWeight& weight,
                std::vector<JobId>& jobs);
  // Whether an entering job comes behind all of sorted_.
  [[nodiscard]] bool behind_sorted(JobId job, const Place& place) const;

  QueueOrder order_;
  PatienceRules patience_;
  Lanes lanes_;
  std::unordered_map<JobId, Place> places_;
  std::set<std::pair<double, JobId>> patience_ends_;
  unsigned others_left_ = 0;  // jobs to start before it is the turn of an impatient one

  // The last sorting of a long line, as far as it is still valid.
  std::vector<JobId> sorted_;
  double sorted_s_ = 0.0;
  std::unordered_map<std::uint32_t, double> sorted_weights_;
  Rank last_rank_{};  // of its last job
  double last_score_ = 0.0;
};

}  // namespace carpool::schedule
