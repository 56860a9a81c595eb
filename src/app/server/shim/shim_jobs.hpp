// Starts jobs with the library in front of the driver, and keeps their limits in the state that
// their processes share. Used by the thread of the scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/server/shim/shim_place.hpp"
#include "core/cluster_snapshot.hpp"
#include "interpose/state/reader.hpp"
#include "run/process_executor.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::app {

// What a job on a GPU may use: what is reserved for it, and the room that no other job claims, up
// to its cap. `owner_limit` is JobSpec::mem_limit_bytes.
[[nodiscard]] interpose::JobLimits shim_limits(const GpuView& gpu,
                                               const Resident& resident,
                                               std::optional<std::uint64_t> owner_limit);

class ShimJobs {
 public:
  ShimJobs(ShimPlace place, const std::vector<GpuView>& gpus);

  // ProcessExecutorSettings::shim. A job for which the state cannot be made runs without the
  // library, and the log says why.
  [[nodiscard]] run::Variables start(const LaunchSpec& spec, const run::Variables& env);

  // The scheduler outlives it.
  void follow(const schedule::Scheduler& scheduler) { scheduler_ = &scheduler; }
  // Writes the limits that have changed, and removes the entries of jobs that have ended. To be
  // called after each observation, and before a paused job goes on.
  void update();

  // ProcessExecutorSettings::refused.
  [[nodiscard]] bool refused(RunId run) const;

 private:
  // The entry of a job in the state of one GPU.
  struct Entry {
    uid_t uid = 0;
    interpose::JobLimits limits{};
    std::uint64_t refusals = 0;  // of earlier attempts
  };
  using Key = std::pair<JobId, std::string>;  // job, UUID of the GPU

  [[nodiscard]] interpose::StateError enter(const LaunchSpec& spec, const std::string& uuid);
  [[nodiscard]] interpose::StateReport report(uid_t uid, const std::string& uuid) const;
  // Of the job that this server has not started; false: it runs without the library.
  [[nodiscard]] bool find_entry(const Key& key, uid_t uid);
  void remove_ended(interpose::StateReader& state,
                    const std::string& uuid,
                    const interpose::StateReport& found) const;
  void write(const Key& key, Entry& entry, const interpose::JobLimits& limits);

  ShimPlace place_;
  std::vector<GpuView> gpus_;
  const schedule::Scheduler* scheduler_ = nullptr;
  std::map<Key, Entry> entries_;
  std::set<Key> without_;  // jobs of before a restart that run without the library
};

}  // namespace carpool::app
