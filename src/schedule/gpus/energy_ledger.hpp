// The energy that the GPUs took, divided among the jobs on them (docs/jobs.md, Usage).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/job.hpp"
#include "core/run.hpp"

namespace carpool::schedule {

// What a restart must not lose: of running attempts, and of the last reading of each GPU with jobs.
struct EnergyRecord {
  struct Attempt {
    RunId run{};
    double joules = 0.0;
    bool operator==(const Attempt&) const = default;
  };
  struct Gpu {
    std::string uuid{};
    double joules = 0.0;  // its counter
    std::vector<RunId> runs{};
    bool operator==(const Gpu&) const = default;
  };
  std::vector<Attempt> attempts{};
  std::vector<Gpu> gpus{};

  bool operator==(const EnergyRecord&) const = default;
};

// Between two readings of the counter of a GPU, the energy goes to the jobs that ran there at the
// first of them: in proportion to their SM activity if that of all is known, else in equal parts.
// The part of a job that has ended by the second reading counts for no job, as does all energy of a
// GPU without jobs. So the sum over all jobs is at most what the GPUs took.
class EnergyLedger {
 public:
  // A job on a GPU at a reading.
  struct Present {
    JobId job = 0;
    bool runs = true;  // it is not paused
    std::optional<double> sm_active{};
  };

  // The counter of a GPU. The same value again is the same reading.
  void read(const std::string& uuid, double joules, std::span<const Present> present);

  // Of its running attempt, on all GPUs; empty: none was attributed to it.
  [[nodiscard]] std::optional<double> joules_of(JobId job) const;
  // Its attempt has ended.
  void remove(JobId job);

  struct LastReading {
    double joules = 0.0;
    std::vector<JobId> jobs{};  // that ran
    // Of before a restart. What a job that ended since then took is not known, and may be in the
    // journal.
    bool restored = false;
  };
  [[nodiscard]] const std::unordered_map<std::string, LastReading>& readings() const {
    return readings_;
  }
  // After a restart, before the first reading.
  void restore(JobId job, double joules) { joules_[job] = joules; }
  void restore(const std::string& uuid, LastReading reading);

 private:
  void divide(const LastReading& last, double joules, std::span<const Present> present);

  std::unordered_map<JobId, double> joules_;
  std::unordered_map<std::string, LastReading> readings_;
};

}  // namespace carpool::schedule
