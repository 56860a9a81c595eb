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

namespace carpool::schedule {

// A reservation lasts until the job's own peak is known: until the peak has not grown for
// `peak_stable_s`. Then the peak plus a margin replaces it, if that is less. A peak above the
// reservation raises it at once. A reservation of 0 means none, and stays 0.
class Occupancy {
 public:
  Occupancy(std::vector<GpuView> gpus, const InterferenceModel& interference, double peak_stable_s);

  // GPUs are named by GpuView::index. A reservation is at most the memory of the GPU.
  void add(const Resident& resident,
           std::span<const unsigned> gpus,
           std::optional<double> runtime_s,
           double now_s);
  void remove(JobId job, double now_s);
  void pause(JobId job, PauseCause cause, double now_s);
  void resume(JobId job, double now_s);
  // The highest use so far, on one GPU; empty: never observed.
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes(JobId job) const;

  // Returns whether a decision may turn out differently now.
  bool observe(const GpuObservation& observation, double now_s);

  // Updates what depends on the time.
  void refresh(double now_s);
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
    std::uint64_t reserved_bytes = 0;   // at its start
    std::uint64_t peak_bytes = 0;
    double peak_grew_s = 0.0;
    bool seen = false;
    double computed_s = 0.0;         // until computing_since_s
    double computing_since_s = 0.0;  // while it computes
    bool computing = false;
    bool peak_known = false;
  };
  // Progress of a resident; in the order of `residents`, since all are updated before every
  // decision.
  struct Pace {
    double runtime_s = 0.0;  // below 0: unknown
    double done_s = 0.0;     // of runtime_s
    double speed = 1.0;
    double since_s = 0.0;  // of speed

    void settle(double now_s);
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
  void change_speeds(std::size_t place, double now_s);
  bool observe_memory(const GpuObservation::JobSeen& memory, std::size_t place, double now_s);
  bool settle_reservation(JobId job, Run& run, double now_s);
  void set_phase(JobId job, ResidentPhase phase, double now_s);
  void refresh_placed(std::size_t place, double now_s);

  std::vector<GpuView> views_;
  std::vector<std::vector<Pace>> paces_;
  std::vector<LastPlaced> last_;
  std::vector<Closed> closed_;
  std::unordered_map<unsigned, std::size_t> places_;
  std::unordered_map<JobId, Run> runs_;
  const InterferenceModel& interference_;
  double peak_stable_s_;
  double refreshed_s_ = 0.0;
  bool stale_ = true;  // more than the time changed since refreshed_s_
};

}  // namespace carpool::schedule
