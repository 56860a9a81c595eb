// Who is on which GPU, how much memory each holds and may still take, how far each is.
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

// A reservation holds until the job's own peak is known: until no new one was seen for
// `peak_stable_s`. Then the peak, with a little room, takes its place where that is less. A peak
// above the reservation raises it at once. A reservation of 0 is none, and stays that.
class Occupancy {
 public:
  Occupancy(std::vector<GpuView> gpus, const InterferenceModel& interference, double peak_stable_s);

  // `resident` says who; GPUs are named by GpuView::index.
  void add(const Resident& resident,
           std::span<const unsigned> gpus,
           std::optional<double> runtime_s,
           double now_s);
  void remove(JobId job, double now_s);
  // Seen so far, on one GPU; empty: never seen.
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes(JobId job) const;

  // Whether a decision may turn out differently now.
  bool observe(const GpuObservation& observation, double now_s);

  // Brings everything up to date that depends on the time.
  void refresh(double now_s);
  [[nodiscard]] std::span<const GpuView> views() const { return views_; }
  [[nodiscard]] const GpuView* find(unsigned index) const;

  // Takes a usable GPU from whoever decides next, and gives it back.
  void withhold(unsigned index, const std::string& why);
  void give_back(unsigned index);

  [[nodiscard]] std::uint64_t largest_memory() const;

 private:
  struct Run {
    std::vector<std::size_t> places{};  // of views_
    std::uint64_t reserved_bytes = 0;   // at its start
    std::uint64_t peak_bytes = 0;
    double peak_grew_s = 0.0;
    bool seen = false;
    bool peak_known = false;
  };
  // How far a resident is. Beside `residents`, and in their order: all are looked at before every
  // decision.
  struct Pace {
    double runtime_s = 0.0;  // below 0: unknown
    double done_s = 0.0;     // seconds of it that are behind it
    double speed = 1.0;
    double since_s = 0.0;  // of speed

    void settle(double now_s);
  };
  // What the availability rule of CARMA looks at.
  struct LastPlaced {
    JobId job = 0;
    double placed_s = 0.0;
    std::optional<double> seen_s{};
  };

  [[nodiscard]] std::optional<std::size_t> place_of(unsigned index) const;
  void change_speeds(std::size_t place, double now_s);
  bool observe_memory(const GpuObservation::JobMemory& memory, std::size_t place, double now_s);
  bool settle_reservation(JobId job, Run& run, double now_s);
  void refresh_placed(std::size_t place, double now_s);

  std::vector<GpuView> views_;
  std::vector<std::vector<Pace>> paces_;
  std::vector<LastPlaced> last_;
  std::unordered_map<unsigned, std::size_t> places_;
  std::unordered_map<JobId, Run> runs_;
  const InterferenceModel& interference_;
  double peak_stable_s_;
  double refreshed_s_ = 0.0;
  bool stale_ = true;  // more than the time has changed since
};

}  // namespace carpool::schedule
