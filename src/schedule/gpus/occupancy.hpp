// Which jobs run on which GPU, the memory that each uses and reserves, and its remaining time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"
#include "core/gpu_observation.hpp"
#include "core/interference_model.hpp"
#include "core/learner.hpp"
#include "schedule/gpus/energy_ledger.hpp"
#include "schedule/gpus/job_reservation.hpp"
#include "schedule/gpus/workload_numbers.hpp"

namespace carpool::schedule {

// What was seen of a running attempt.
struct WatchedRun {
  std::optional<std::uint64_t> peak_bytes{};  // on one GPU; empty: never seen there
  std::optional<double> starting_s{};         // until it was seen; empty: not known
  double progress = 1.0;                      // believed mean share of its solo speed
  unsigned processes = 1;                     // most at once on one GPU
  std::optional<double> energy_joules{};      // attributed to it; empty: not known
};

class Occupancy {
 public:
  Occupancy(std::vector<GpuView> gpus,
            const InterferenceModel& interference,
            const ReservationRules& reservation);

  // Processes at once on one GPU that earlier runs of the workload lead to expect.
  [[nodiscard]] unsigned expected_processes(const std::string& workload) const;

  // GPUs are named by GpuView::index. A reservation is at most the memory of the GPU. The cap of a
  // job is divided among as many processes as are expected.
  void add(const Resident& resident,
           std::span<const unsigned> gpus,
           std::optional<double> runtime_s,
           double now_s,
           unsigned processes = 1);
  void remove(JobId job, double now_s);
  void pause(JobId job, PauseCause cause, double now_s);
  void resume(JobId job, double now_s);
  // The job may need this much from now on.
  void raise_reservation(JobId job, std::uint64_t bytes, double now_s);
  // Nothing limits the memory of the job from now on: its reservation follows what is measured.
  void lose_cap(JobId job);
  // Empty: the job does not run.
  [[nodiscard]] std::optional<WatchedRun> watched(JobId job, double now_s) const;
  // As in WatchedRun.
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes(JobId job) const;
  // The jobs on a GPU that took more than was kept for them, and how much that was.
  [[nodiscard]] std::unordered_map<JobId, std::uint64_t> exceeded(const GpuView& gpu) const;
  // Jobs on a GPU with more processes than their cap is divided among, which together took more
  // than the cap and more than others leave: no limit of MPS stops them.
  struct OverCap {
    JobId job = 0;
    unsigned processes = 1;
    std::uint64_t used_bytes = 0;
    std::uint64_t cap_bytes = 0;
  };
  [[nodiscard]] std::vector<OverCap> over_cap(const GpuView& gpu) const;
  // Attempts of before a restart: when each was first seen on its GPU is not known.
  void forget_starts();

  // Returns whether a decision may turn out differently now.
  bool observe(const GpuObservation& observation, double now_s);
  // The jobs that compute on a GPU, after observe().
  [[nodiscard]] GroupSeen group_seen(const GpuObservation& observation, double now_s) const;
  // Grows whenever another set of jobs computes on a GPU.
  [[nodiscard]] std::uint64_t group_changes() const { return group_changes_; }
  // Places in views() where other jobs compute or stand still than at the last call, or of whose
  // jobs something was learned.
  [[nodiscard]] std::vector<std::size_t> take_changed();
  void learned_of(unsigned index);
  // Some GPU has several jobs, or one that stands still.
  [[nodiscard]] bool has_groups() const;

  [[nodiscard]] const EnergyLedger& energy() const { return energy_; }
  [[nodiscard]] EnergyLedger& energy() { return energy_; }

  // Updates what depends on the time.
  void refresh(double now_s);
  // Asks the model again how fast the jobs of each group are: it may have learned.
  void update_speeds(double now_s);
  [[nodiscard]] std::span<const GpuView> views() const { return views_; }
  [[nodiscard]] const GpuView* find(unsigned index) const;

  // Marks a usable GPU as unusable for the next decision, and undoes that.
  void withhold(unsigned index, const std::string& why);
  void give_back(unsigned index);
  // Marks a GPU as unusable because of trouble there; empty: it is over.
  void set_aside(unsigned index, const std::string& why);

  [[nodiscard]] std::uint64_t largest_memory() const;

 private:
  struct Run {
    std::vector<std::size_t> places{};  // of views_
    JobReservation reservation{};
    std::uint64_t process_bytes = 0;  // cap of one process; 0: none
    unsigned divided = 1;             // processes among which the cap is divided
    unsigned processes = 1;           // most at once on one GPU
    bool seen = false;
    bool start_known = true;
    ResidentPhase phase = ResidentPhase::Starting;
    double phase_since_s = 0.0;
    double starting_s = 0.0;  // until phase_since_s, as the next
    double computed_s = 0.0;

    [[nodiscard]] double in_phase_s(ResidentPhase which, double before_s, double now_s) const;
    [[nodiscard]] double all_computed_s(double now_s) const {
      return in_phase_s(ResidentPhase::Computing, computed_s, now_s);
    }
  };
  // Progress of a resident; in the order of `residents`, since all are updated before every
  // decision.
  struct Pace {
    double computed_s = 0.0;  // before its present phase
    double runtime_s = 0.0;   // below 0: unknown
    double done_s = 0.0;      // of runtime_s
    double speed = 1.0;
    double since_s = 0.0;  // of speed

    void settle(double now_s);
    [[nodiscard]] double all_done_s(double now_s) const;
  };
  // The jobs that compute on a GPU.
  struct Group {
    std::vector<JobId> computing{};
    double since_s = 0.0;
  };
  // Why a GPU is unusable; the first that is not empty counts.
  struct Closed {
    std::string observed{};
    std::string trouble{};
    std::string withheld{};
  };
  // For the availability rule of CARMA.
  struct LastPlaced {
    JobId job = 0;
    double placed_s = 0.0;
    std::optional<double> seen_s{};
  };

  [[nodiscard]] std::optional<std::size_t> place_of(unsigned index) const;
  void update_usable(std::size_t place);
  void change_group(std::size_t place, double now_s);
  void change_speeds(std::size_t place, double now_s);
  void mark_changed(std::size_t place);
  bool observe_job(const GpuObservation::JobSeen& seen, std::size_t place, double now_s);
  void observe_energy(const GpuView& view, const GpuObservation& observation);
  bool show_reservation(JobId job, const Run& run);
  void set_phase(JobId job, ResidentPhase phase, double now_s);
  void refresh_placed(std::size_t place, double now_s);

  std::vector<GpuView> views_;
  std::vector<std::vector<Pace>> paces_;
  std::vector<Group> groups_;
  std::vector<LastPlaced> last_;
  std::vector<Closed> closed_;
  std::unordered_map<unsigned, std::size_t> places_;
  std::unordered_map<JobId, Run> runs_;
  WorkloadNumbers numbers_;
  EnergyLedger energy_;
  std::vector<std::size_t> changed_;  // for take_changed()
  std::vector<bool> is_changed_;
  const InterferenceModel& interference_;
  ReservationRules reservation_;
  std::uint64_t group_changes_ = 0;
  double refreshed_s_ = 0.0;
  bool stale_ = true;  // more than the time changed since refreshed_s_
};

}  // namespace carpool::schedule
