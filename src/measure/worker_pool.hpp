// The workers of a campaign: which processes are resident, for which seats. Starting PyTorch takes
// tens of seconds and a window one: whoever is ready stays until somebody else needs the place.
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
#include "measure/start_troubles.hpp"

namespace carpool::measure {

// Where the workers run.
struct MeasuringPlace {
  std::string gpu_uuid;
  std::filesystem::path scratch;     // an empty folder of ours, for step files and outputs
  std::filesystem::path mps_folder;  // where an MPS daemon may live
  std::function<bool()> stop;        // asked while workers start
};

// One step file a seat, which keeps its worker; or why somebody is not there.
using Seated = tl::expected<std::vector<std::shared_ptr<profile::StepFile>>, Failure>;

// Used by one thread at a time. Its end ends all workers, and then the MPS daemon.
class WorkerPool {
 public:
  WorkerPool(const Plan& plan, MeasuringPlace place);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Starts whoever of a batch is missing, all at once, after ending who is not in it, and waits
  // until everybody is ready or gone. Who cannot start is dealt with when a cell asks for it. An
  // error is about MPS itself.
  [[nodiscard]] Result<void> prepare(const Batch& batch);

  // Sees to it that these seats are ready; when the GPU's memory is full, by ending all others.
  // A seat that has failed to start twice in a row by itself is not tried again.
  [[nodiscard]] Result<Seated> seat(std::span<const Seat> seats);

  // Why a worker of these seats is gone; nothing while all live. Who is gone is no longer present.
  [[nodiscard]] std::optional<Failure> death_among(std::span<const Seat> seats);
  [[nodiscard]] bool present(const Seat& seat) const { return hosts_.contains(seat); }

  // Ends the workers of these seats; they are started anew when next asked for.
  void drop(std::span<const Seat> seats);

  [[nodiscard]] pid_t pid_of(const Seat& seat) const { return hosts_.pid_of(seat); }

 private:
  [[nodiscard]] Result<void> need_mps();
  [[nodiscard]] Result<void> bring(std::span<const Seat> seats);
  void start(std::span<const Seat> seats);
  void start_host(Command command, std::span<const Seat> seats);
  void wait_until_ready(std::span<const Seat> seats);
  void give_up_waiting(std::span<const Seat> seats);

  [[nodiscard]] bool ready(std::span<const Seat> seats) const;
  [[nodiscard]] Failure why_missing(std::span<const Seat> seats) const;
  [[nodiscard]] bool make_room(std::span<const Seat> seats);

  void look_after_deaths();
  void end_where(const std::function<bool(const Seat&)>& goes);
  void end_all_but(std::span<const Seat> kept);
  void let_go(const Hosts& leaving);

  const Plan& plan_;
  MeasuringPlace place_;
  std::unique_ptr<gpu::MpsDaemon>
      mps_;  // started when the first seat needs it; outlives its clients
  SeatHosts hosts_;
  StartTroubles troubles_;
  bool somebody_died_ = false;  // since we last looked whether the MPS server is well
  std::size_t started_ = 0;     // hosts so far, for folder names
};

}  // namespace carpool::measure
