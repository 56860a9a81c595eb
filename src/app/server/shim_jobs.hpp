// Starts jobs with the library in front of the driver, and enters them into the state that their
// processes share. Used by the thread of the scheduler.
#pragma once

#include <string>
#include <vector>

#include "app/server/shim_place.hpp"
#include "core/cluster_snapshot.hpp"
#include "interpose/state/reader.hpp"
#include "run/process_executor.hpp"

namespace carpool::app {

class ShimJobs {
 public:
  ShimJobs(ShimPlace place, const std::vector<GpuView>& gpus);

  // ProcessExecutorSettings::shim. A job for which the state cannot be made runs without the
  // library, and the log says why.
  [[nodiscard]] run::Variables start(const LaunchSpec& spec, const run::Variables& env);

 private:
  [[nodiscard]] interpose::StateError enter(const LaunchSpec& spec, const std::string& uuid) const;

  ShimPlace place_;
  std::vector<GpuView> gpus_;
};

}  // namespace carpool::app
