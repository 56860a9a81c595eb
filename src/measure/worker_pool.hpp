// The resident workers of a campaign. PyTorch takes tens of seconds to start and a window takes
// one, so a worker stays until another needs its place.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "measure/cells.hpp"
#include "measure/host.hpp"
#include "measure/member_hosts.hpp"
#include "measure/start_failures.hpp"

namespace carpool::measure {

// Where the workers run.
struct MeasuringPlace {
  std::string gpu_uuid;
  std::filesystem::path scratch;     // an empty folder for step files and outputs
  std::filesystem::path mps_folder;  // for an MPS daemon
  std::function<bool()> stop;        // polled while workers start
};

// One step file per member, which keeps its worker alive; or why a member is missing.
using ReadyMembers = tl::expected<std::vector<std::shared_ptr<profile::StepFile>>, Failure>;

// Used by one thread at a time. The destructor ends all workers, then the MPS daemon.
class WorkerPool {
 public:
  WorkerPool(const Plan& plan, MeasuringPlace place);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Ends workers that are not in the batch, starts the missing ones in parallel, and waits until
  // each is ready or gone. acquire() reports members that could not start. Fails only if MPS does.
  [[nodiscard]] Result<void> prepare(const Batch& batch);

  // Makes these members ready, ending all others if GPU memory is full. A member that has failed to
  // start twice in a row is not tried again.
  [[nodiscard]] Result<ReadyMembers> acquire(std::span<const Member> members);

  // Why a worker of these members ended; nothing while all run. Removes the ended ones.
  [[nodiscard]] std::optional<Failure> death_among(std::span<const Member> members);
  [[nodiscard]] bool present(const Member& member) const { return hosts_.contains(member); }

  // Ends the workers of these members; acquire() starts them again.
  void drop(std::span<const Member> members);

  [[nodiscard]] pid_t pid_of(const Member& member) const { return hosts_.pid_of(member); }

 private:
  [[nodiscard]] Result<void> need_mps();
  [[nodiscard]] Result<void> start_missing(std::span<const Member> members);
  void start(std::span<const Member> members);
  void start_host(Command command, std::span<const Member> members);
  void wait_until_ready(std::span<const Member> members);
  void give_up_waiting(std::span<const Member> members);

  [[nodiscard]] bool ready(std::span<const Member> members) const;
  [[nodiscard]] Failure why_missing(std::span<const Member> members) const;
  [[nodiscard]] bool make_room(std::span<const Member> members);

  void check_for_deaths();
  void end_where(const std::function<bool(const Member&)>& goes);
  void end_all_but(std::span<const Member> kept);
  void end(const Hosts& leaving);

  const Plan& plan_;
  MeasuringPlace place_;
  std::unique_ptr<gpu::MpsDaemon>
      mps_;  // started for the first member that needs it; outlives its clients
  MemberHosts hosts_;
  StartFailures start_failures_;
  bool worker_died_ = false;  // since the last check of the MPS server
  std::size_t started_ = 0;   // number of hosts so far, for folder names
};

}  // namespace carpool::measure
