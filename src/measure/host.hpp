// One resident worker process: started once, then held or released for each window. With streams
// one process runs several workloads, each with its own step file.
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

// Used by one thread at a time. The destructor kills the process and removes its folder.
class Host {
 public:
  // `folder` (which must not exist) receives the step files and the output of the process.
  // CARPOOL_STEP_FILE is added to the command's environment.
  [[nodiscard]] static Result<Host> start(Command command,
                                          std::size_t slots,
                                          const std::filesystem::path& folder);

  [[nodiscard]] std::vector<profile::StepFile>& slots() { return slots_; }

  // The process that runs this slot's workload: the child or a descendant of it.
  [[nodiscard]] pid_t pid_of(std::size_t slot) const;
  [[nodiscard]] bool owns(pid_t pid) const;

  // All its workloads are warm and held.
  [[nodiscard]] bool all_held() const;
  // At least one of its workloads has started to follow orders.
  [[nodiscard]] bool follows_orders() const;

  // Why the process ended; nothing while it runs.
  [[nodiscard]] std::optional<Failure> death();

  // Orders each of its workloads to end after its current step.
  void order_end();
  [[nodiscard]] bool ends_within(std::chrono::milliseconds limit);
  void kill();

 private:
  struct RemoveFolder {
    void operator()(const std::filesystem::path* folder) const;
  };
  using OwnFolder = std::unique_ptr<const std::filesystem::path, RemoveFolder>;
  Host(OwnFolder folder, ChildProcess child, std::vector<profile::StepFile> slots)
      : folder_(std::move(folder)), child_(std::move(child)), slots_(std::move(slots)) {}

  OwnFolder folder_;  // first: destroyed last
  ChildProcess child_;
  std::vector<profile::StepFile> slots_;
};

using Hosts = std::set<std::shared_ptr<Host>>;

// Orders all hosts to end, waits up to `grace`, and kills those that remain; MPS clients are
// drained first. `mps` may be null.
void end_hosts(const Hosts& hosts, std::chrono::milliseconds grace, gpu::MpsDaemon* mps);

}  // namespace carpool::measure
