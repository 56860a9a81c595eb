// How fast jobs run beside each other; used by policies and by the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/forecast.hpp"
#include "core/group.hpp"
#include "core/job.hpp"
#include "core/latency.hpp"

namespace carpool {

// SM activity assumed for a workload whose activity is unknown.
inline constexpr double kUnknownActivity = 0.7;

struct InterferenceMember {
  std::string workload{};  // unknown ones get a conservative answer
  double thread_limit = kAllThreads;
};

// Progress of a member of a group, and how sure that is.
struct ProgressForecast {
  double progress = 1.0;  // share of its solo speed
  Interval interval90{.low = 0.0, .high = 1.0};
  enum class Basis {
    Assumed,   // what is usual of workloads that were never seen
    Members,   // what is known of the members
    Measured,  // this very group ran before
  } basis = Basis::Assumed;
};

// What is known of one workload, for people.
struct WorkloadBelief {
  // By its kernels in a window of a few seconds.
  struct Window {
    double sm_active = 0.0;  // solo, 0 to 1
    double over_s = 0.0;
    bool alone = false;  // no other job computed on the GPU meanwhile
    bool operator==(const Window&) const = default;
  };
  double sm_active = kUnknownActivity;  // solo, 0 to 1
  Interval sm_active90{.low = 0.0, .high = 1.0};
  double assumed_sm_active = kUnknownActivity;  // before anything was measured
  std::optional<Window> window{};               // empty: its kernels were not recorded
  double measured_s = 0.0;                      // time for which it was watched; 0: never
  bool alone = false;                           // part of that time without neighbours
  std::optional<double> solo_rate{};            // units of its progress a second
  unsigned processes = 1;                       // at once on one GPU, in its last run
};

// A model bound to given workloads, which are named by index: for inner loops. For one thread.
class BoundInterference {
 public:
  BoundInterference() = default;
  BoundInterference(const BoundInterference&) = delete;
  BoundInterference& operator=(const BoundInterference&) = delete;
  virtual ~BoundInterference() = default;

  // Adds a workload with the next index.
  virtual void add(const std::string& workload) = 0;
  // As InterferenceModel::progress without thread limits; `out` is as long as `group`.
  virtual void progress(std::span<const std::uint32_t> group, std::span<double> out) = 0;
};

class InterferenceModel {
 public:
  InterferenceModel() = default;
  InterferenceModel(const InterferenceModel&) = delete;
  InterferenceModel& operator=(const InterferenceModel&) = delete;
  virtual ~InterferenceModel() = default;

  // Each member's share of its solo speed, in order; 1 for a group of one. Thread-safe.
  [[nodiscard]] virtual std::vector<double> progress(
      std::span<const InterferenceMember> group) const = 0;
  // SM activity solo, 0 to 1; empty: unknown.
  [[nodiscard]] virtual std::optional<double> sm_active(const std::string& workload) const = 0;
  [[nodiscard]] virtual bool knows(const std::string& workload) const = 0;

  // As progress(), with intervals. A model without intervals answers 0 to 1.
  [[nodiscard]] virtual std::vector<ProgressForecast> forecast(
      std::span<const InterferenceMember> group) const;
  // Empty: the model keeps no beliefs.
  [[nodiscard]] virtual std::optional<WorkloadBelief> belief(const std::string& workload) const;

  // Latency of requests. Empty: too little is known of the job or of what is beside it.
  [[nodiscard]] virtual std::optional<LatencyForecast> latency(
      const LatencyQuestion& question) const;
  // Of a job that computes. Empty: nothing was predicted or measured of its requests.
  [[nodiscard]] virtual std::optional<WatchedLatency> watched_latency(JobId job) const;

  // Whether a thread limit changes the answer.
  [[nodiscard]] virtual bool knows_limits() const { return false; }
  // The model must outlive it; the names need not.
  [[nodiscard]] virtual std::unique_ptr<BoundInterference> bind(
      std::span<const std::string> workloads) const;
};

}  // namespace carpool
