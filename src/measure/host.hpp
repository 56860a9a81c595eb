// One process of a workload, kept ready: started once, then held and let run window by window.
// Under streams one process holds several workloads, each with a step file of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/process/child_process.hpp"
#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "measure/failure.hpp"
#include "profile/steps/step_file.hpp"

namespace carpool::measure {

// Used by one thread at a time. Its end kills the process and removes its folder.
class Host {
 public:
  // `folder` (which must not exist) takes the step files and the output of the process;
  // CARPOOL_STEP_FILE is added to the command's environment.
  [[nodiscard]] static Result<Host> start(Command command,
                                          std::size_t slots,
                                          const std::filesystem::path& folder);

  [[nodiscard]] std::vector<profile::StepFile>& slots() { return slots_; }

  // The process that runs this slot's workload: the one we started, or one that it started.
  [[nodiscard]] pid_t pid_of(std::size_t slot) const;
  [[nodiscard]] bool owns(pid_t pid) const;

  // Every workload in it is warm and waits.
  [[nodiscard]] bool all_held() const;
  // Some workload in it has come so far that it looks at orders.
  [[nodiscard]] bool obeys() const;

  // Why the process is gone; nothing while it lives.
  [[nodiscard]] std::optional<Failure> death();

  // Each workload in it ends after its current step.
  void tell_to_end();
  [[nodiscard]] bool ends_within(std::chrono::milliseconds limit);
  void kill();

 private:
  struct RemoveFolder {
    void operator()(const std::filesystem::path* folder) const;
  };
  using OwnFolder = std::unique_ptr<const std::filesystem::path, RemoveFolder>;
  Host(OwnFolder folder, ChildProcess child, std::vector<profile::StepFile> slots)
      : folder_(std::move(folder)), child_(std::move(child)), slots_(std::move(slots)) {}

  OwnFolder folder_;  // first: it goes last
  ChildProcess child_;
  std::vector<profile::StepFile> slots_;
};

using Hosts = std::set<std::shared_ptr<Host>>;

// Tells all of them to end, waits for them together, and kills who stays; one that is a client of
// MPS only after its work was drained. `mps` may be null.
void end_hosts(const Hosts& hosts, std::chrono::milliseconds grace, gpu::MpsDaemon* mps);

}  // namespace carpool::measure
